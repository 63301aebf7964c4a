#include "app/completion.h"

#include <cstdio>
#include <memory>

namespace tegula::app {
namespace {

// The program itself says what could come next: tegula --complete WORD… LAST.
constexpr const char* kBash = R"(_tegula() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null))
}
complete -o default -F _tegula tegula
)";
// Not by bashcompinit, whose functions zsh reads by its own rules.
constexpr const char* kZsh = R"((( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
_tegula() {
  local -a found=("${(@f)$("${(Q)words[1]}" --complete "${(@Q)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _tegula tegula
)";
constexpr const char* kFish = "complete -c tegula -a '(tegula --complete (commandline -opc)[2..-1] (commandline -ct))'\n";

}  // namespace

void add_completion(Command& root) {
  auto shell = std::make_shared<std::string>();
  Command command = root.command("completion", "what makes a shell complete commands and options: eval \"$(tegula completion bash)\"");
  command.option("shell", *shell, "which one").required().check(one_of({"bash", "zsh", "fish"}));
  command.runs([shell] { std::printf("%s", *shell == "fish" ? kFish : *shell == "zsh" ? kZsh : kBash); });
}

}  // namespace tegula::app
