#include "suggest.h"

#include <algorithm>
#include <numeric>

#include "tegula/core/error.h"

namespace tegula::app {
namespace {

/// Letters to insert, remove or replace (Wagner and Fischer).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

struct Place {
  const CLI::App* command;
  std::string name;  // "tegula bench"
  int next;          // argument behind it
};

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// How far the arguments name commands.
Place command_of(const CLI::App& app, int argc, char** argv) {
  Place place{&app, app.get_name(), 1};
  for (bool found = true; found && place.next < argc;) {
    found = false;
    for (const CLI::App* command : commands_of(*place.command)) {
      if (command->get_name() != argv[place.next]) continue;
      place = {command, place.name + " " + command->get_name(), place.next + 1};
      found = true;
      break;
    }
  }
  return place;
}

std::string hint(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = word.size() / 3 + 2;  // two letters that changed places are two changes
  for (const auto& candidate : candidates) {
    const std::size_t letters = candidate.starts_with(word) && word.size() > 2 ? 1 : distance(word, candidate);
    if (letters < least) {
      least = letters;
      best = candidate;
    }
  }
  return best;
}

void check_commands(const CLI::App& app, int argc, char** argv) {
  const Place place = command_of(app, argc, argv);
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(*place.command)) names.push_back(command->get_name());
  if (names.empty() || place.next >= argc || argv[place.next][0] == '-') return;
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  throw CLI::ValidationError(place.name,
                             "no command " + std::string(argv[place.next]) + hint(argv[place.next], names) + "\nThere are " + list + ".");
}

std::string unplaced(const CLI::App& app, int argc, char** argv) {
  const Place place = command_of(app, argc, argv);
  std::vector<std::string> options;
  for (const CLI::Option* option : place.command->get_options()) {
    for (const auto& name : option->get_lnames()) options.push_back("--" + name);
  }
  for (int i = place.next; i < argc; ++i) {
    const std::string argument = argv[i], word = argument.substr(0, argument.find('='));
    if (!word.starts_with("-") || word == "-" || place.command->get_option_no_throw(word)) continue;
    return place.name + ": unknown option " + word + hint(word, options);
  }
  const auto rest = app.remaining(true);
  return place.name + ": unexpected argument " + (rest.empty() ? std::string() : rest.front());
}

}  // namespace tegula::app
