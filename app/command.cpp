#include "app/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <list>
#include <map>
#include <set>
#include <sstream>

#include "app/completion.h"
#include "app/suggest.h"
#include "tegula/core/error.h"
#include "tegula/core/interrupt.h"
#include "tegula/core/text.h"
#include "tegula/dist/exchange/group.h"
#include "tegula/io/file.h"

namespace tegula::app {
namespace {

/// Declarations that CLI11 does not keep. Lives as long as the program runs commands.
struct Declared {
  std::map<const CLI::Option*, std::vector<std::string>> choices;
  std::list<std::pair<CLI::Option*, std::function<void(const std::string&)>>> setters;  // in the order of the declarations
  std::list<std::string> texts;                                                         // that setters get
  std::set<const CLI::App*> running;                            // commands that do something themselves
  std::map<const CLI::App*, std::vector<CLI::Option*>> needed;  // arguments of commands that have others below: only without one of those
};
Declared& declared() {
  static Declared all;
  return all;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

struct Subcommand {
  const CLI::App* command;
  std::string name;  // "tegula bench"
  std::size_t next;  // argument behind it
};

/// The command that the arguments name, and the first argument behind its name.
Subcommand command_of(const CLI::App& app, const std::vector<std::string>& arguments) {
  Subcommand place{&app, app.get_name(), 0};
  for (bool found = true; found && place.next < arguments.size();) {
    found = false;
    for (const CLI::App* command : commands_of(*place.command)) {
      if (command->get_name() != arguments[place.next]) continue;
      place = {command, place.name + " " + command->get_name(), place.next + 1};
      found = true;
      break;
    }
  }
  return place;
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& command, const std::string& dashes) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back(dashes + name);
  }
  return names;
}

std::string hint(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

/// The command's first argument, if Option::suggests lists its values; else null.
const CLI::Option* listed_argument(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) return declared().choices.contains(option) ? option : nullptr;
  }
  return nullptr;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// Throws if the arguments name an unknown command: CLI11 would only say that one is required, or complain of the words after it.
void check_commands(const CLI::App& app, const std::vector<std::string>& arguments) {
  const Subcommand place = command_of(app, arguments);
  std::vector<std::string> names = names_of(commands_of(*place.command));
  if (names.empty() || place.next >= arguments.size() || arguments[place.next].starts_with("-")) return;
  const std::string& word = arguments[place.next];
  std::string kind = "command";
  if (declared().running.contains(place.command)) {  // the word is its argument
    const CLI::Option* argument = listed_argument(*place.command);
    if (!argument) return;
    const std::vector<std::string>& values = declared().choices.at(argument);
    if (std::find(values.begin(), values.end(), word) != values.end()) return;
    names.insert(names.begin(), values.begin(), values.end());
    kind = argument->get_name() + " or command";
  }
  throw CLI::ValidationError(place.name, "no " + kind + " " + word + hint(word, names) + "\nThere are " + list_of(names) + ".");
}

/// Says in words what CLI11 could not place: "tegula train: unknown option --epoch; did you mean --epochs?"
std::string unplaced(const CLI::App& app, const std::vector<std::string>& arguments) {
  const Subcommand place = command_of(app, arguments);
  const std::vector<std::string> options = options_of(*place.command, "--");
  for (std::size_t i = place.next; i < arguments.size(); ++i) {
    const std::string word = arguments[i].substr(0, arguments[i].find('='));
    if (!word.starts_with("-") || word == "-" || place.command->get_option_no_throw(word)) continue;
    const auto has_it = [&](const CLI::App* command) { return command->get_option_no_throw(word) != nullptr; };
    const bool is_below = std::ranges::any_of(commands_of(*place.command), has_it);
    return place.name + ": unknown option " + word + (is_below ? "; options stand behind the command" : hint(word, options));
  }
  const auto rest = app.remaining(true);
  return place.name + ": unexpected argument " + (rest.empty() ? std::string() : rest.front());
}

/// --config may stand behind the command, where people write it; CLI11 wants it in front.
std::vector<std::string> with_config_first(std::vector<std::string> arguments) {
  if (!arguments.empty() && (arguments[0] == "launch" || arguments[0] == "debug"))
    return arguments;  // it belongs to the program that is run
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const bool apart = arguments[i] == "--config";
    if (!apart && !arguments[i].starts_with("--config=")) continue;
    const auto count = static_cast<std::ptrdiff_t>(apart && i + 1 < arguments.size() ? 2 : 1);
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(arguments.begin(), at, at + count);
    break;
  }
  return arguments;
}

/// Throws for a line that names sections within sections within sections: CLI11 keeps all of a line's parents with each of its items, and copies them.
void check_depth(const std::string& path, const std::string& text) {
  constexpr std::ptrdiff_t kMostDots = 8;
  std::istringstream lines(text);
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto dots = std::count(line.begin(), std::find(line.begin(), line.end(), '='), '.');
    const std::size_t first = line.find_first_not_of(" \t");
    const bool is_comment = first != std::string::npos && (line[first] == '#' || line[first] == ';');
    if (dots > kMostDots && !is_comment)
      throw CLI::ValidationError("tegula", path + ", line " + std::to_string(number) + ": a name of " + std::to_string(dots + 1) +
                                               " parts, expected sections such as [train.gpt]");
  }
}

/// Throws for a key of the configuration file that is no option of its section's command.
void check_config(const CLI::App& app, const std::string& path) {
  if (path.empty()) return;
  io::Bytes bytes;
  try {
    bytes = io::read_file(path, {.op = "--config"});
  } catch (const Error& error) { throw CLI::ValidationError(error.what()); }
  const std::string all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  check_depth(path, all);
  std::istringstream text(all);
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(text)) {
    if (item.name == "++" || item.name == "--") continue;  // begin or end of a section
    const Subcommand place = command_of(app, item.parents);
    const std::string where = path + ": " + item.fullname();
    if (item.parents.empty())
      throw CLI::ValidationError("tegula", where + " stands in no section; write [train] or another command above it");
    if (place.next < item.parents.size())
      throw CLI::ValidationError("tegula", where + ": no command " + item.parents[place.next] +
                                               hint(item.parents[place.next], names_of(commands_of(*place.command))));
    bool known = false;
    for (const CLI::Option* option : place.command->get_options())
      known = known || option->check_name(item.name) || option->check_lname(item.name);
    if (!known)
      throw CLI::ValidationError("tegula",
                                 where + ": " + place.name + " has no such option" + hint(item.name, options_of(*place.command, "")));
  }
}

/// The completions of the last word, which may be empty.
std::vector<std::string> completions(const CLI::App& app, std::vector<std::string> words) {
  std::erase(words, "=");  // Bash makes three words of --option=value
  std::string last = words.empty() ? "" : words.back(), front;
  if (!words.empty()) words.pop_back();
  if (const std::size_t equals = last.find('='); last.starts_with("--") && equals != std::string::npos) {  // others leave it one
    front = last.substr(0, equals + 1);
    words.push_back(last.substr(0, equals));
    last.erase(0, equals + 1);
  }
  const Subcommand place = command_of(app, words);
  std::vector<std::string> all;
  const CLI::Option* before =
      words.size() > place.next && words.back().starts_with("-") ? place.command->get_option_no_throw(words.back()) : nullptr;
  const bool wants_value = before && before->get_items_expected_max() > 0;
  if (wants_value) {
    if (const auto found = declared().choices.find(before); found != declared().choices.end()) all = found->second;
  } else if (last.starts_with("-")) {
    all = options_of(*place.command, "--");
  } else {
    all = names_of(commands_of(*place.command));
    for (const CLI::Option* option : place.command->get_options()) {
      const auto found = declared().choices.find(option);
      if (option->get_positional() && found != declared().choices.end()) all.insert(all.end(), found->second.begin(), found->second.end());
    }
  }
  std::erase_if(all, [&](const std::string& one) { return !one.starts_with(last); });
  for (std::string& one : all) one.insert(0, front);
  return all;
}

/// True if all output has arrived: a full disk, or a pipe without a reader, is reported only at the end.
bool flushed() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  std::perror("tegula: standard output");
  return false;
}

}  // namespace

Check one_of(std::vector<std::string> choices) {
  std::string list;
  for (const auto& choice : choices) list += (list.empty() ? "" : ",") + choice;
  const auto complaint = [choices, list](const std::string& text) -> std::string {
    for (const auto& choice : choices) {
      if (choice == text) return "";
    }
    return "got " + text + ", expected one of " + list + hint(text, choices);
  };
  return {"{" + list + "}", complaint, choices};
}

Option& Option::check(const Check& check) {
  option_->check(CLI::Validator(check.complaint, check.type));
  if (!check.choices.empty()) declared().choices[option_] = check.choices;
  return *this;
}
Option& Option::type(const std::string& name) {
  option_->type_name(name);
  return *this;
}
Option& Option::shows_default() {
  option_->capture_default_str();
  return *this;
}
Option& Option::shows_default(const std::string& text) {
  option_->default_str(text);
  return *this;
}
Option& Option::required() {
  option_->required();
  return *this;
}
Option& Option::suggests(std::vector<std::string> values) {
  declared().choices[option_] = std::move(values);
  return *this;
}
Option& Option::commas() {
  option_->delimiter(',');
  return *this;
}
Option& Option::repeats() {
  option_->allow_extra_args(false);
  return *this;
}

Command Command::command(const std::string& name, const std::string& text) {
  for (CLI::Option* option : app_->get_options()) {
    if (!option->get_required()) continue;
    option->required(false);  // CLI11 would ask for it below, too
    declared().needed[app_].push_back(option);
  }
  return Command(app_->add_subcommand(name, text));
}
void Command::needs_command() { app_->require_subcommand(1); }
void Command::last_counts() { app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); }
std::string Command::name() const { return app_->get_name(); }

Option Command::option(const std::string& name, std::string& value, const std::string& text) {
  return Option(app_->add_option(name, value, text));
}
Option Command::option(const std::string& name, std::int64_t& value, const std::string& text) {
  return Option(app_->add_option(name, value, text));
}
Option Command::option(const std::string& name, std::uint64_t& value, const std::string& text) {
  return Option(app_->add_option(name, value, text));
}
Option Command::option(const std::string& name, double& value, const std::string& text) {
  return Option(app_->add_option(name, value, text));
}
Option Command::option(const std::string& name, std::optional<double>& value, const std::string& text) {
  return Option(app_->add_option(name, value, text));
}
Option Command::option(const std::string& name, std::vector<std::string>& value, const std::string& text) {
  return Option(app_->add_option(name, value, text));
}
Option Command::option(const std::string& name, std::vector<std::int64_t>& value, const std::string& text) {
  return Option(app_->add_option(name, value, text));
}
Option Command::option(const std::string& name, std::function<void(const std::string&)> set, const std::string& text) {
  std::string& value = declared().texts.emplace_back();
  CLI::Option* option = app_->add_option(name, value, text);
  declared().setters.emplace_back(option, [set = std::move(set), &value](const std::string&) { set(value); });
  return Option(option);
}
Option Command::flag(const std::string& name, bool& value, const std::string& text) { return Option(app_->add_flag(name, value, text)); }

void Command::for_each(const std::function<void(Command)>& f) const {
  for (CLI::App* below : app_->get_subcommands([](CLI::App*) { return true; })) {
    if (declared().running.contains(below)) f(Command(below));
    Command(below).for_each(f);
  }
}

void Command::runs_program(std::function<void(std::vector<std::string>)> work) {
  app_->prefix_command();
  runs([app = app_, work = std::move(work)] {
    std::vector<std::string> words = app->remaining();
    if (!words.empty() && words.front() == "--") words.erase(words.begin());
    if (words.empty()) throw CLI::RequiredError("a program");
    work(std::move(words));
  });
}

void Command::runs(std::function<void()> work) {
  std::string section = app_->get_name();
  for (const CLI::App* above = app_->get_parent(); above && above->get_parent(); above = above->get_parent())
    section = above->get_name() + "." + section;
  app_->footer("Options may stand in a file, with --config FILE: lines such as threads = 1 below [" + section +
               "]. Those on the command line count.");
  declared().running.insert(app_);
  // A configuration file may hold sections of other commands: their options are read, and set nothing.
  app_->callback([app = app_, work = std::move(work)] {
    if (!app->get_subcommands().empty()) return;  // it runs, not this one
    for (const CLI::Option* option : declared().needed[app]) {
      if (option->count() == 0) throw CLI::RequiredError(option->get_name());
    }
    for (const auto& [option, set] : declared().setters) {
      const auto own = app->get_options();
      if (option->count() > 0 && std::find(own.begin(), own.end(), option) != own.end()) set("");
    }
    work();
  });
}

std::string resuming_command(const std::vector<std::string>& words, const std::string& checkpoint) {
  const auto quoted = [](const std::string& word) {
    const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) || std::string_view("-_./:=,+@%").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (is_plain) return word;
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  };
  std::string out = "tegula";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--resume") ++i;
    else if (!words[i].starts_with("--resume=")) out += " " + quoted(words[i]);
  }
  return out + " --resume " + quoted(checkpoint);
}

namespace {

/// Prints the command that continues an interrupted training, if its words name a checkpoint that was written.
void print_how_to_resume(const std::vector<std::string>& words) {
  std::string checkpoint;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--checkpoint" && i + 1 < words.size()) checkpoint = words[i + 1];
    if (words[i].starts_with("--checkpoint=")) checkpoint = words[i].substr(words[i].find('=') + 1);
  }
  if (checkpoint.empty() || !io::is_there(checkpoint)) return;
  std::printf("to go on: %s\n", printable(resuming_command(words, checkpoint)).c_str());
}

}  // namespace

int run_program(int argc, char** argv, const std::string& version, const std::function<void(Command&)>& declare) {
  CLI::App app{"Trains, evaluates and shows neural networks."};
  app.name("tegula");
  app.require_subcommand(1);
  Command root(&app);
  declare(root);
  add_completion(root);
  app.set_version_flag("--version", "tegula " + version);
  CLI::Option* config = app.set_config("--config", "", "a TOML file with options, one section for each command: [train]");
  config->type_name("FILE");
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "--complete") {
    for (const auto& word : completions(app, {arguments.begin() + 1, arguments.end()})) std::printf("%s\n", word.c_str());
    return flushed() ? 0 : 1;
  }
  arguments = with_config_first(arguments);
  const std::size_t behind_config = arguments.empty()            ? 0
                                    : arguments[0] == "--config" ? std::min<std::size_t>(2, arguments.size())
                                                                 : arguments[0].starts_with("--config=");
  const std::vector<std::string> words(arguments.begin() + static_cast<std::ptrdiff_t>(behind_config), arguments.end());
  try {
    check_commands(app, words);
    if (behind_config > 0) check_config(app, behind_config == 2 ? arguments[1] : arguments[0].substr(arguments[0].find('=') + 1));
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    app.parse(reversed);
    if (interrupted() != 0) print_how_to_resume(arguments);
    if (!flushed()) return 1;
    return interrupted() != 0 ? 128 + interrupted() : 0;  // as a shell says it of a program that a signal has ended
  } catch (const CLI::ExtrasError&) {
    app.exit(CLI::ValidationError(unplaced(app, words)));
    return 2;
  } catch (const CLI::RequiredError& error) {
    const Subcommand place = command_of(app, words);
    const std::vector<std::string> names = names_of(commands_of(*place.command));
    const bool wants_command = !names.empty() && !declared().running.contains(place.command);
    const std::string what = wants_command ? "got no command, expected one" : error.what();
    app.exit(CLI::ValidationError(place.name, what + (names.empty() ? "" : "\nThere are " + list_of(names) + ".")));
    return 2;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // help, or the version
      app.exit(error);
      return flushed() ? 0 : 1;
    }
    const std::string text = error.what();
    app.exit(text.starts_with("tegula") ? error : CLI::ValidationError(command_of(app, words).name, text));
    return 2;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    const std::string text = error.what();
    dist::stop_others(text);
    std::fprintf(stderr, "%s%s\n", text.starts_with("tegula") ? "" : "tegula: ", text.c_str());
    return 1;
  }
}

}  // namespace tegula::app
