// SPDX-License-Identifier: MIT
// The command line, by CLI11. What stands behind "--" is the command, and is not looked at.
#include "order.hpp"

#include <mortise/version.hpp>

#include "duration.hpp"
#include "status.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>
#include <string_view>

namespace mortise::tool {
namespace {

constexpr const char* statuses =
    "exits with the command's status (128 + n: signal n), or 64 usage, 65 other fingerprint or "
    "too\n"
    "long a result, 69 store unavailable, 75 busy, 76 hold lost, 77 denied, 78 misconfigured";

/// An option that takes a duration.
template <class Duration>
void duration_option(CLI::App& app, const char* name, Duration& into, const char* what) {
  app.add_option_function<std::string>(
         name,
         [&into, name](const std::string& text) {
           const auto read = duration_of(text);
           if (!read) {
             throw CLI::ValidationError(name, "takes a duration such as 250ms, 10s or 2h");
           }
           into = *read;
         },
         what)
      ->type_name("DUR");
}

struct Flags {
  bool try_only = false;
  bool escaped = false;
};

/// @return the token that is written so, as the looks print it: no other base, and not 0.
std::uint64_t token_of(const std::string& text) {
  std::uint64_t token = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, token);
  if (error != std::errc() || stop != end || text[0] == '0') {
    throw CLI::ValidationError("--token", "takes the token of a hold, a number above 0");
  }
  return token;
}

void hold_options(CLI::App& app, Order& order) {
  duration_option(app, "--wait", order.wait, "wait at most so long (default: as long as it takes)");
  duration_option(app, "--lease", order.lease, "the store frees it so long after a crash (30s)");
}

CLI::App* verb(CLI::App& app, Order& order, const char* name, const char* what) {
  CLI::App* const sub = app.add_subcommand(name, what);
  sub->callback([&order, name] { order.verb = name; });
  return sub;
}

CLI::App* look_verb(CLI::App& app, Order& order, Flags& flags, const char* name, const char* what,
                    const char* subject) {
  CLI::App* const sub = verb(app, order, name, what);
  sub->add_option("URL", order.url, "the store")->required();
  if (subject != nullptr) {
    CLI::Option* const option = sub->add_option(subject, order.name, "bytes of any value");
    if (std::string_view(subject) == "NAME") option->required();
    sub->add_flag("--escaped", flags.escaped, R"(it is written with \xNN and \\, as list prints)");
  }
  duration_option(*sub, "--answer", order.answer, "wait at most so long for the store (10s)");
  return sub;
}

void run_verbs(CLI::App& app, Order& order, Flags& flags) {
  CLI::App* const run = verb(app, order, "run", "run a command while holding a lock");
  run->add_option("URL", order.url, "the store, such as file:///var/lib/shop/locks")->required();
  run->add_option("NAME", order.name, "of the lock")->required();
  hold_options(*run, order);
  run->add_flag("--try", flags.try_only, "do not wait")->excludes("--wait");
  run->add_option("--label", order.label, "what others see as its holder (default: host:pid)");
  duration_option(*run, "--min-hold", order.min_hold, "keep the name at least so long");
  run->add_flag("--shared", order.shared, "as one of many readers");
  run->add_flag("--escaped", flags.escaped, R"(NAME is written with \xNN and \\, as list prints)");

  CLI::App* const once = verb(app, order, "once", "run a command once, and remember its output");
  once->add_option("URL", order.url, "the store")->required();
  once->add_option("KEY", order.name, "what is done once")->required();
  hold_options(*once, order);
  duration_option(*once, "--keep", order.keep, "remember it so long (1d)");
  once->add_option("--fingerprint", order.fingerprint, "what makes two calls the same");
  once->add_option("--label", order.label, "what others see as its runner");
  once->add_flag("--escaped", flags.escaped, R"(KEY is written with \xNN and \\)");
}

void look_verbs(CLI::App& app, Order& order, Flags& flags) {
  const auto json = [&](CLI::App* sub) { sub->add_flag("--json", order.json, "print JSON"); };
  json(look_verb(app, order, flags, "holder", "who holds a name (1: nobody)", "NAME"));
  json(look_verb(app, order, flags, "list", "the names that are held", "PREFIX"));
  json(look_verb(app, order, flags, "queue", "who holds a name and who waits for it", "NAME"));
  CLI::App* const seen =
      look_verb(app, order, flags, "watch", "a live table of what is held", "PREFIX");
  duration_option(*seen, "--every", order.every, "look so often (2s)");
  seen->add_flag("--once", order.once, "look once");
  seen->add_flag("--json", order.json, "with --once: print JSON")->needs("--once");
  CLI::App* const ended =
      look_verb(app, order, flags, "release", "take a name from whoever holds it", "NAME");
  ended->add_flag("--force", order.force, "yes, from somebody who is at work with it");
  ended
      ->add_option_function<std::string>(
          "--token", [&order](const std::string& text) { order.token = token_of(text); },
          "only the hold with this token")
      ->type_name("UINT");
  json(look_verb(app, order, flags, "check", "can locks be taken there?", nullptr));

  CLI::App* const made = verb(app, order, "migrate", "make PostgreSQL's schema, or bring it up");
  made->add_option("URL", order.url, "the database, as the owner of the schema");
  made->add_option("--role", order.role, "the application's role, which gets its rights");
  made->add_option("--schema", order.schema, "the schema's name (mortise)");
  made->add_flag("--print", order.print, "print the SQL, and run nothing");
}

/// @return what is wrong with the arguments. Any of them may be a URL with a password, since a
/// value may have been forgotten before it. So only errors are repeated that quote no argument.
std::string words_of(const CLI::ParseError& error) {
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::RequiredError:
    case CLI::ExitCodes::RequiresError:
    case CLI::ExitCodes::ExcludesError:
    case CLI::ExitCodes::ArgumentMismatch:
    case CLI::ExitCodes::ValidationError: return error.what();  // those of this file
    default: break;
  }
  return "an argument too much, an unknown option, or a value for an option without one; see "
         "mortise --help";
}

/// What CLI11 cannot know of. @return what is wrong, or nothing.
std::string fault_of(Order& order, const Flags& flags) {
  const bool takes_command = order.verb == "run" || order.verb == "once";
  if (takes_command && order.command.empty()) {
    return order.verb + ": no command; it stands behind \"--\"";
  }
  if (flags.try_only) order.wait = std::chrono::nanoseconds(0);
  if (flags.escaped) {
    auto bytes = bytes_of(order.name);
    if (!bytes) return "the name is not escaped as --escaped wants it";
    order.name = *std::move(bytes);
  }
  if (order.verb == "release" && !order.force) {
    return "release takes the name from somebody who is at work: say --force if you mean it";
  }
  if (order.verb == "migrate" && order.url.empty() && !order.print)
    return "migrate: URL is missing";
  return {};
}

}  // namespace

bool read_order(int argc, char** argv, Order& order, int& status) {
  char** const end = argv + argc;
  const std::string_view first = argc > 1 ? argv[1] : "";
  const bool takes_command = first == "run" || first == "once";
  char** const dashes = !takes_command ? end : std::find_if(argv, end, [](const char* word) {
    return std::string_view(word) == "--";
  });
  if (dashes != end) order.command.assign(dashes + 1, end);

  CLI::App app("Distributed locks for the shell; see mortise(1)", "mortise");
  app.set_version_flag("--version", "mortise " + std::to_string(MORTISE_VERSION_MAJOR) + "." +
                                        std::to_string(MORTISE_VERSION_MINOR) + "." +
                                        std::to_string(MORTISE_VERSION_PATCH));
  app.require_subcommand(1);
  app.footer(statuses);
  Flags flags;
  run_verbs(app, order, flags);
  look_verbs(app, order, flags);
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;
    if (asked) {
      status = app.exit(error, std::cout, std::cerr);
    } else {
      complain(words_of(error));
      status = usage;
    }
    return false;
  }
  if (const std::string fault = fault_of(order, flags); !fault.empty()) {
    complain(fault);
    status = usage;
    return false;
  }
  return true;
}

}  // namespace mortise::tool
