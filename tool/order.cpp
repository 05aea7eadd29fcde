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

/// What is wrong with the arguments, and what to do about it.
struct Fault {
  std::string what;
  std::string advice;
};

std::string help_of(const std::string& verb) {
  return verb.empty() ? list_of_commands : "Run 'mortise " + verb + " --help' for its options.";
}

/// Quotes no argument: each may be a URL with a password, for example if `--url` was forgotten.
Fault fault_of(const CLI::ParseError& error, const std::string& verb) {
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::RequiredError:
    case CLI::ExitCodes::RequiresError:
    case CLI::ExitCodes::ExcludesError:
    case CLI::ExitCodes::ArgumentMismatch:
    case CLI::ExitCodes::ValidationError:
      return {error.what(), help_of(verb)};  // words of CLI11 and grammar.cpp alone
    default: break;
  }
  return {"there is an unknown option, or an argument too many", help_of(verb)};
}

/// @return whether a name begins as the URL of a store does: `--url` was probably forgotten. Used
/// as a name, the URL and its password would be stored and shown to other clients.
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

/// What CLI11 does not check. Completes the order.
std::optional<Fault> complete(Order& order, const Flags& flags) {
  if (takes_program(order.verb) && order.command.words.empty()) {
    return Fault{order.verb + ": there is no program to run", "Write it at the end, after \"--\"."};
  }
  if (flags.try_only) order.command.wait = std::chrono::nanoseconds(0);
  if (flags.escaped) {
    auto bytes = bytes_of(order.name);
    if (!bytes) {
      return Fault{"--escaped: the name has a backslash that begins no escape",
                   R"(Write a byte as \xNN and a backslash as \\.)"};
    }
    order.name = *std::move(bytes);
  } else if (looks_like_url(order.name)) {
    return Fault{
        "the name is the URL of a store",
        "Name the store by --url-file, --url or MORTISE_URL; if it is a name, use --escaped."};
  }
  if (order.verb == "release" && !flags.force) {
    return Fault{"release: the holder may still be working, and --force is missing",
                 "End the holder's process instead, or add --force."};
  }
  if (order.schema.print) return std::nullopt;  // needs no store
  order.url = find_url(flags.store);
  if (order.url.empty()) {
    return Fault{"no store is named", "Set MORTISE_URL, or add --url-file FILE or --url URL."};
  }
  return std::nullopt;
}

/// The first command that is named: CLI11 does not tell which one an error is about.
std::string verb_in(const CLI::App& app, int argc, char** argv) {
  const auto named = app.get_subcommands(
      [&](const CLI::App* command) { return argc > 1 && command->get_name() == argv[1]; });
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
    fault = fault_of(error, verb_in(app, argc, argv));
  }
  if (!fault) return true;
  complain(fault->what, fault->advice);
  status = usage;
  return false;
}

}  // namespace mortise::tool
