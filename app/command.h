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

/// What a value may be.
struct Check {
  std::string type;                                          // for --help: "POSITIVE"
  std::function<std::string(const std::string&)> complaint;  // what is wrong with a text; "" when nothing is
  std::vector<std::string> choices = {};                     // when these are all there are
};

// What a number may be, said in words where it is not.
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
  Option& suggests(std::vector<std::string> values);  // to a shell that completes, beside what the user may choose
  Option& commas();                        // values may be separated by commas too
  Option& repeats();                       // of a list: one value each time that it is given

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
  /// Of options that are given twice the last counts: scripts give defaults, their arguments override them.
  void last_counts();
  std::string name() const;

  /// "--epochs", or without dashes an argument by its place. The variable keeps its value when the option is not given.
  Option option(const std::string& name, std::string& value, const std::string& text);
  Option option(const std::string& name, std::int64_t& value, const std::string& text);
  Option option(const std::string& name, std::uint64_t& value, const std::string& text);
  Option option(const std::string& name, double& value, const std::string& text);
  Option option(const std::string& name, std::optional<double>& value, const std::string& text);
  Option option(const std::string& name, std::vector<std::string>& value, const std::string& text);
  Option option(const std::string& name, std::vector<std::int64_t>& value, const std::string& text);
  /// Calls `set` with what was given, before the command runs.
  Option option(const std::string& name, std::function<void(const std::string&)> set, const std::string& text);
  /// "--quick"; "!--no-pictures" makes it false.
  Option flag(const std::string& name, bool& value, const std::string& text);

  /// Calls f with each command below this one that does something.
  void for_each(const std::function<void(Command)>& f) const;
  /// What the command does with the words behind its options, which are another program and its arguments.
  void runs_program(std::function<void(std::vector<std::string>)> work);
  /// What the command does. Of a command with others below it: when none of those is named.
  void runs(std::function<void()> work);

 private:
  CLI::App* app_;
};

/// The words of a command line as a shell takes them, with --resume `checkpoint` in the place of an earlier one.
std::string resuming_command(const std::vector<std::string>& words, const std::string& checkpoint);

/// Declares the commands by `declare`, and does what the arguments say. Returns the exit status.
int run_program(int argc, char** argv, const std::string& version, const std::function<void(Command&)>& declare);

}  // namespace tegula::app
