#pragma once
// Commands and their options. Only command.cpp knows CLI11, whose headers take seconds to compile.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tegula::app {

/// The rule for a value.
struct Check {
  std::string type;                                          // for --help: "POSITIVE"
  std::function<std::string(const std::string&)> complaint;  // what is wrong with a text; "" when nothing is
  std::vector<std::string> choices = {};                     // when these are all there are
};

// Rules for numbers, with the text of their complaint.
Check positive();      // whole
Check not_negative();  // whole
Check any_count();     // whole, up to 64 bits
Check positive_real();
Check between(double low, double high);
/// A variable of the shell that is not set must not stand for "no file".
Check not_empty(const std::string& complaint = "got an empty name, expected a file");
Check one_of(std::vector<std::string> choices);

/// An option of a command, as it was declared. Calls can be chained.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& check(const Check& check);
  Option& type(const std::string& name);   // for --help: "FILE"
  Option& shows_default();                 // the value that its variable has now
  Option& shows_default(const std::string& text);
  Option& required();
  Option& suggests(std::vector<std::string> values);  // to a completing shell, beside the permitted values
  Option& commas();                        // values may be separated by commas too
  Option& repeats();                       // a list: the option is given once per value

 private:
  CLI::Option* option_;
};

/// A command, or a group of commands.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command command(const std::string& name, const std::string& text);
  /// One of its commands must be given.
  void needs_command();
  /// An option given twice takes its last value: scripts give defaults, their arguments override them.
  void last_counts();
  std::string name() const;

  /// "--epochs", or without dashes an argument by its position. The variable keeps its value when the option is not given.
  Option option(const std::string& name, std::string& value, const std::string& text);
  Option option(const std::string& name, std::int64_t& value, const std::string& text);
  Option option(const std::string& name, std::uint64_t& value, const std::string& text);
  Option option(const std::string& name, double& value, const std::string& text);
  Option option(const std::string& name, std::optional<double>& value, const std::string& text);
  Option option(const std::string& name, std::vector<std::string>& value, const std::string& text);
  Option option(const std::string& name, std::vector<std::int64_t>& value, const std::string& text);
  /// Calls `set` with the given text, before the command runs.
  Option option(const std::string& name, std::function<void(const std::string&)> set, const std::string& text);
  /// "--quick"; "!--no-pictures" makes it false.
  Option flag(const std::string& name, bool& value, const std::string& text);

  /// Calls f with each command below this one that does something.
  void for_each(const std::function<void(Command)>& f) const;
  /// The work of a command that gets the words after its options: another program and its arguments.
  void runs_program(std::function<void(std::vector<std::string>)> work);
  /// The work of the command; for a command with subcommands: if none of those is named.
  void runs(std::function<void()> work);

 private:
  CLI::App* app_;
};

/// The words of a command line as a shell takes them, with --resume `checkpoint` in the place of an earlier one.
std::string resuming_command(const std::vector<std::string>& words, const std::string& checkpoint);

/// Declares the commands by `declare`, and runs the one in the arguments. Returns the exit status.
int run_program(int argc, char** argv, const std::string& version, const std::function<void(Command&)>& declare);

}  // namespace tegula::app
