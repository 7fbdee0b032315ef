use std::process::ExitCode;

fn main() -> ExitCode {
    voxwire::cli::main()
}
