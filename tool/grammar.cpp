// SPDX-License-Identifier: MIT
#include "grammar.hpp"

#include "duration.hpp"

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mortise::tool {
namespace {

/// Help that fits a terminal of 80 columns and 24 lines. CLI11's own help repeats in each line
/// which options exclude each other.
class Help : public CLI::Formatter {
 public:
  Help() {
    label("SUBCOMMAND", "COMMAND");
    label("REQUIRED", "");
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    if (!takes_program(app->get_name())) return usage;
    return usage.insert(usage.size() - 1, " -- PROGRAM...");
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional() || option->get_type_size() == 0) return {};
    return " " + option->get_type_name();
  }
};

/// An option that takes a duration.
template <class Duration>
void duration_option(CLI::App* app, const char* name, Duration& into, const char* what) {
  app->add_option_function<std::string>(
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

/// @return the token that the text is in decimal, as the tool prints tokens; not 0.
Token token_of(const std::string& text) {
  std::uint64_t token = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, token);
  if (error != std::errc() || stop != end || text[0] == '0') {
    throw CLI::ValidationError("--token",
                               "takes the token of a hold, as 'mortise queue' prints it");
  }
  return Token(token);
}

/// Adds commands to one program, which outlives this object: the callbacks refer only to the order
/// and the flags.
class Commands {
 public:
  Commands(CLI::App& app, Order& order, Flags& flags) : app_(app), order_(order), flags_(flags) {}

  void add_run() {
    CLI::App* const run = add("run", "run a program while holding a lock",
                              "mortise run nightly --try -- make-report --all");
    name(run, "NAME", "the lock's name", true);
    hold_options(run);
    run->get_option("--wait")->excludes(
        run->add_flag("--try", flags_.try_only, "do not wait for the lock"));
    run->add_option("--label", order_.command.label, "the holder's name (default: host:pid)");
    duration_option(run, "--min-hold", order_.command.min_hold, "keep the lock at least this long");
    run->add_flag("--shared", order_.command.shared, "hold it as one of many readers");
    store(run);
  }
  void add_once() {
    CLI::App* const once = add("once", "run a program once, and remember its output",
                               "mortise once invoice/42 --keep 30d -- charge-card 42");
    name(once, "KEY", "the key of the work that is done once", true);
    hold_options(once);
    duration_option(once, "--keep", order_.command.keep, "remember the output this long (1d)");
    once->add_option("--fingerprint", order_.command.fingerprint,
                     "refuse a call with the same key and a different TEXT");
    once->add_option("--label", order_.command.label, "the runner's name (default: host:pid)");
    store(once);
  }
  void add_looks() {
    CLI::App* const holder =
        look("holder", "print who holds a lock", "mortise holder orders/42 --json");
    name(holder, "NAME", "the lock's name", true);
    json(holder);
    CLI::App* const queue =
        look("queue", "print who holds a name, and who waits for it", "mortise queue orders/42");
    name(queue, "NAME", "the name of a lock, semaphore or key", true);
    kinds(queue);
    json(queue);
    CLI::App* const list =
        look("list", "print the names that are held", "mortise list --keys invoice/");
    name(list, "PREFIX", "print only names that begin with it", false);
    kinds(list);
    json(list);
    CLI::App* const watch =
        look("watch", "show all holds in a table that updates", "mortise watch orders/ --every 5s");
    name(watch, "PREFIX", "show only names that begin with it", false);
    kinds(watch);
    duration_option(watch, "--every", order_.look.every, "the time between two updates (2s)");
    CLI::Option* const once = watch->add_flag("--once", order_.look.once, "print one table");
    json(watch)->needs(once);
  }
  void add_keys() {
    CLI::App* const look_at =
        look("look", "print what the store remembers of a key", "mortise look invoice/42");
    name(look_at, "KEY", "a key of 'mortise once'", true);
    json(look_at);
    name(
        look("forget", "forget a key, so that its program runs again", "mortise forget invoice/42"),
        "KEY", "a key of 'mortise once'", true);
  }
  void add_changes() {
    CLI::App* const release = look("release", "end a hold by force",
                                   "mortise release --force orders/42 --token 1838998778114103296");
    name(release, "NAME", "the name of a lock, semaphore or key", true);
    release->add_flag("--force", flags_.force, "required: the holder may still be working");
    CLI::Option* const token = release->add_option_function<std::string>(
        "--token", [&look = order_.look](const std::string& text) { look.token = token_of(text); },
        "end only the hold with this token");
    token->type_name("TOKEN");
    CLI::Option* const semaphores =
        kind(release, "--semaphores", Mode::permit, "NAME is a semaphore; needs --token");
    semaphores->needs(token);
    kind(release, "--keys", Mode::once, "NAME is a key")->excludes(semaphores);
    json(look("check", "test whether locks can be taken", "mortise check"));
  }
  void add_migrate() {
    CLI::App* const migrate = add("migrate", "create or update the schema of PostgreSQL",
                                  "mortise migrate --role shop --url-file /etc/shop/owner.url");
    migrate->add_option("--role", order_.schema.role, "grant this role what an application needs");
    migrate->add_option("--schema", order_.schema.schema, "the schema's name (mortise)");
    migrate->add_flag("--print", order_.schema.print, "print the SQL, and do not run it");
    store(migrate);
  }

 private:
  CLI::App* add(const char* verb, const char* what, const char* example) {
    CLI::App* const command = app_.add_subcommand(verb, what);
    command->group("Commands");
    command->footer(std::string("Example:\n  ") + example);
    auto help = std::make_shared<Help>();
    help->column_width(23);
    command->formatter(std::move(help));
    command->callback([this_order = &order_, verb] { this_order->verb = verb; });
    return command;
  }
  CLI::App* look(const char* verb, const char* what, const char* example) {
    CLI::App* const command = add(verb, what, example);
    duration_option(command, "--answer", order_.look.answer,
                    "wait this long for the store's answer (10s)");
    store(command);
    return command;
  }
  void name(CLI::App* command, const char* word, const char* what, bool required) {
    command->add_option(word, order_.name, what)->required(required);
    command->add_flag("--escaped", flags_.escaped,
                      std::string(word) + R"( is written with \xNN and \\)");
  }
  void hold_options(CLI::App* command) {
    duration_option(command, "--wait", order_.command.wait, "wait at most this long (no limit)");
    duration_option(command, "--lease", order_.command.lease,
                    "the store frees it this long after a crash (30s)");
  }
  CLI::Option* kind(CLI::App* command, const char* flag, Mode kind, const char* what) {
    return command->add_flag_callback(
        flag, [&kinds = order_.look.kinds, kind] { kinds.push_back(kind); }, what);
  }
  void kinds(CLI::App* command) {
    kind(command, "--locks", Mode::exclusive, "locks (without these three options: every kind)");
    kind(command, "--semaphores", Mode::permit, "semaphores");
    kind(command, "--keys", Mode::once, "keys that run now");
  }
  CLI::Option* json(CLI::App* command) {
    return command->add_flag("--json", order_.look.json, "print JSON");
  }
  void store(CLI::App* command) {
    CLI::Option* const url = not_empty(command, "--url", flags_.store.url,
                                       "the URL of the store; other users see it in ps");
    url->type_name("URL");
    not_empty(command, "--url-file", flags_.store.file, "a file that contains the store's URL")
        ->type_name("FILE")
        ->excludes(url);
  }
  /// A script whose variable is not set must not reach the store of `MORTISE_URL`.
  static CLI::Option* not_empty(CLI::App* command, const char* option,
                                std::optional<std::string>& into, const char* what) {
    return command->add_option_function<std::string>(
        option,
        [&into, option](const std::string& text) {
          if (text.empty()) throw CLI::ValidationError(option, "the value is empty");
          into = text;
        },
        what);
  }

  CLI::App& app_;
  Order& order_;
  Flags& flags_;
};

}  // namespace

bool takes_program(std::string_view verb) noexcept { return verb == "run" || verb == "once"; }

void add_commands(CLI::App& app, Order& order, Flags& flags) {
  auto help = std::make_shared<Help>();
  help->column_width(14);
  app.formatter(std::move(help));
  Commands commands(app, order, flags);
  commands.add_run();
  commands.add_once();
  commands.add_looks();
  commands.add_keys();
  commands.add_changes();
  commands.add_migrate();
}

}  // namespace mortise::tool
