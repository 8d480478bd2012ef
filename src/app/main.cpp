#include "app/cli.h"
#include "app/commands/commands.h"

namespace {

struct RunCommand {
  int operator()(const paceline::ServeCommand& command) const {
    return paceline::run_serve(command);
  }
  int operator()(const paceline::PackCommand& command) const { return paceline::run_pack(command); }
  int operator()(const paceline::CheckConfigCommand& command) const {
    return paceline::run_check_config(command);
  }
  int operator()(const paceline::ExitCommand& command) const { return command.status; }
};

}  // namespace

int main(int argc, char** argv) {
  return std::visit(RunCommand{}, paceline::parse_command_line(argc, argv));
}
