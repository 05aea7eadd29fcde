// SPDX-License-Identifier: MIT
#include "order.hpp"

#include <mortise/version.hpp>

#include "grammar.hpp"
#include "status.hpp"
#include "text.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>

namespace mortise::tool {
namespace {

constexpr const char* footer =
    "The store: --url-file FILE or --url URL, or else MORTISE_URL of the environment.\n"
    "'mortise COMMAND --help' prints the options and an example; see also mortise(1).";

constexpr const char* list_of_commands = "Run 'mortise --help' for the list of commands.";

std::string version() {
  return "mortise " + std::to_string(MORTISE_VERSION_MAJOR) + "." +
         std::to_string(MORTISE_VERSION_MINOR) + "." + std::to_string(MORTISE_VERSION_PATCH);
}

/// A fault in the arguments, and the advice for it.
struct Fault {
  std::string what;
  std::string advice;
};

std::string help_of(const std::string& verb) {
  return "Run 'mortise " + verb + " --help' for its options.";
}

Fault no_program(const std::string& verb) {
  return {"'mortise " + verb + "' has no program to run",
          "Write the program and its arguments at the end, after \"--\"."};
}

/// @return whether a message may quote the word: it looks like the name of a command or of an
/// option. Any other argument may be a URL or a password, for example if `--url` was forgotten.
bool is_quotable(std::string_view word) noexcept {
  constexpr std::size_t longest = 16;
  return !word.empty() && word.size() <= longest && word.front() != '-' &&
         std::all_of(word.begin(), word.end(),
                     [](char each) { return (each >= 'a' && each <= 'z') || each == '-'; });
}

/// @return the first option that the parser does not know, without its value; nothing if there is
/// none. If a message must not quote the option, the text describes it.
std::optional<std::string> unknown_option(const CLI::App& app) {
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with('-')) continue;
    const std::string option = word.substr(0, word.find('='));
    const std::string_view letters =
        std::string_view(option).substr(option.starts_with("--") ? 2 : 1);
    return is_quotable(letters) ? option : "of this spelling";
  }
  return std::nullopt;
}

/// @param first the first argument, which is not a command; empty if there is none
Fault fault_without_command(const CLI::App& app, std::string_view first) {
  if (first.empty()) return {"no command is given", list_of_commands};
  const auto option = first.starts_with('-') ? unknown_option(app) : std::nullopt;
  if (option) {
    return {"there is no option " + *option + " before the command",
            "Write the options after the command, as in 'mortise list --json'."};
  }
  if (!is_quotable(first)) return {"the first argument is not a command", list_of_commands};
  return {"there is no command '" + std::string(first) + "'", list_of_commands};
}

/// CLI11 writes "--wait: 1 required DUR missing", or "--wait: At Most 1 required but received 2".
std::string number_of_values(const std::string& words) {
  const std::string option = words.substr(0, words.find(':'));
  return option + (words.ends_with(" missing") ? " needs a value" : " is given more than once");
}

/// @param verb the command
/// @param has_program whether the arguments have "--" and a program after it
Fault fault_of(const CLI::App& app, const CLI::ParseError& error, const std::string& verb,
               bool has_program) {
  if (const auto option = unknown_option(app)) {
    return {"'mortise " + verb + "' has no option " + *option, help_of(verb)};
  }
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::RequiredError:
    case CLI::ExitCodes::RequiresError:
    case CLI::ExitCodes::ExcludesError:
    case CLI::ExitCodes::ValidationError:
      return {error.what(), help_of(verb)};  // the text comes from CLI11 and grammar.cpp alone
    case CLI::ExitCodes::ArgumentMismatch: return {number_of_values(error.what()), help_of(verb)};
    case CLI::ExitCodes::ExtrasError: break;
    default: return {"an option has a value that it does not accept", help_of(verb)};
  }
  if (takes_program(verb) && !has_program) return no_program(verb);
  return {"'mortise " + verb + "' has one argument too many", help_of(verb)};
}

/// @return whether a name begins like the URL of a store: `--url` was probably forgotten. As a
/// name, the URL and its password would be stored, and shown to other clients.
bool looks_like_url(std::string_view name) noexcept {
  constexpr std::string_view schemes[] = {"redis",    "rediss",    "redlock",
                                          "redlocks", "zookeeper", "postgresql",
                                          "postgres", "file",      "memory"};
  const std::size_t end = name.find("://");
  if (end == std::string_view::npos) return false;
  const std::string_view scheme = name.substr(0, std::min(end, name.find('+')));
  // As in every URL, the scheme is read without regard to case.
  const auto equals = [](char one, char other) {
    return (one >= 'A' && one <= 'Z' ? static_cast<char>(one - 'A' + 'a') : one) == other;
  };
  return std::any_of(std::begin(schemes), std::end(schemes), [&](std::string_view each) {
    return std::equal(scheme.begin(), scheme.end(), each.begin(), each.end(), equals);
  });
}

/// Checks what CLI11 does not check, and completes the order.
std::optional<Fault> complete(Order& order, const Flags& flags) {
  if (takes_program(order.verb) && order.command.words.empty()) {
    return no_program(order.verb);
  }
  if (flags.try_only) order.command.wait = std::chrono::nanoseconds(0);
  if (flags.escaped) {
    auto bytes = bytes_of(order.name);
    if (!bytes) {
      return Fault{"--escaped: a backslash in the name is not the start of an escape",
                   R"(Write a byte as \xNN, and a backslash as \\.)"};
    }
    order.name = *std::move(bytes);
  } else if (looks_like_url(order.name)) {
    return Fault{
        "the name is the URL of a store",
        "Name the store with --url-file, --url or MORTISE_URL. If this is a name, add --escaped."};
  }
  if (order.verb == "release" && !flags.force) {
    return Fault{"'mortise release' needs --force, because the holder may still be working",
                 "End the holder's process if you can. If you cannot, add --force."};
  }
  if (order.schema.print) return std::nullopt;  // needs no store
  order.url = find_url(flags.store);
  if (order.url.empty()) {
    return Fault{"no store is named", "Set MORTISE_URL, or add --url-file FILE or --url URL."};
  }
  return std::nullopt;
}

/// @return the first argument if it is a command, else an empty text. CLI11 does not
/// report which command an error is about.
std::string verb_in(const CLI::App& app, std::string_view first) {
  const auto named =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == first; });
  return named.empty() ? "" : named.front()->get_name();
}

}  // namespace

bool read_order(int argc, char** argv, Order& order, int& status) {
  char** const end = argv + argc;
  char** const dashes =
      argc > 1 && takes_program(argv[1])
          ? std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; })
          : end;
  if (dashes != end) order.command.words.assign(dashes + 1, end);

  CLI::App app("mortise: distributed locks for the shell", "mortise");
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  app.footer(footer);
  Flags flags;
  add_commands(app, order, flags);
  std::optional<Fault> fault;
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
    fault = complete(order, flags);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      status = app.exit(error, std::cout, std::cerr);
      return false;
    }
    const std::string_view first = argc > 1 ? argv[1] : "";
    const std::string verb = verb_in(app, first);
    fault = verb.empty() ? fault_without_command(app, first)
                         : fault_of(app, error, verb, !order.command.words.empty());
  }
  if (!fault) return true;
  complain(fault->what, fault->advice);
  status = usage;
  return false;
}

}  // namespace mortise::tool
