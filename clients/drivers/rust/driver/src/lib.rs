//! What the drivers of Rust SDKs share: the specification and the commands,
//! the lines, the payloads, the pace, the bookkeeping. What an SDK adds is a
//! [`Session`]. All of a driver runs on one thread.

mod call;
mod clock;
mod conn;
mod gate;
mod line;
mod payload;
mod process;
mod producer;
mod registers;
pub mod spec;
mod stdout;

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use tokio::sync::mpsc;
use tokio::task::{JoinSet, LocalSet};

pub use call::{Ack, Call, FAIL, INFO, OK};
pub use conn::Conn;
pub use gate::{until, Gate};
pub use line::Message;
use line::{Line, Writer};
pub use process::{Later, Process, Session};
use spec::{Command, Spec, ALL, CONTRACT};

/// A client library and how to use it.
pub struct Sdk {
    pub name: &'static str,
    pub version: &'static str,
    pub protocols: &'static [&'static str],
    pub dedupes: bool,
    pub cannot: &'static [&'static str],
    pub open: fn(&Rc<Process>) -> Rc<dyn Session>,
}

/// A driver: reads a specification and commands from stdin and writes lines to
/// stdout until all its clients have ended.
pub fn main(sdk: Sdk) -> ExitCode {
    match start(sdk) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("driver: {why}");
            ExitCode::FAILURE
        }
    }
}

fn start(sdk: Sdk) -> Result<(), String> {
    let out = stdout::protect().map_err(|e| format!("move stdout away: {e}"))?;
    end_with_a_panic();
    let spec = read_spec(&sdk)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("start tokio: {e}"))?;
    let writer = Rc::new(Writer::new(out));
    writer.write(Line {
        e: "hello", contract: CONTRACT, sdk: sdk.name, version: sdk.version,
        clock: clock::NAME, cannot: sdk.cannot, dedupes: sdk.dedupes, ..Line::default()
    });
    LocalSet::new().block_on(&runtime, run(Rc::new(sdk), Rc::new(spec), &writer));
    writer.bye();
    Ok(())
}

/// A task that panics, ours or the SDK's, is a driver that died: the runtime
/// would go on without it. It is by a failure of its own where our code panics.
fn end_with_a_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        std::process::exit(if info.location().is_some_and(|at| ours(at.file())) { 70 } else { 101 });
    }));
}

/// Whether a source file is of this crate, or of the program, whose files cargo
/// names from its folder.
fn ours(file: &str) -> bool {
    let file = Path::new(file);
    file.starts_with("src") || Path::new(file!()).parent().is_some_and(|sources| file.starts_with(sources))
}

fn read_spec(sdk: &Sdk) -> Result<Spec, String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|e| format!("read the specification: {e}"))?;
    if line.is_empty() {
        return Err("no specification on stdin; the driver is started by rmq-mcp".into());
    }
    let spec: Spec = serde_json::from_str(&line).map_err(|e| format!("read the specification: {e}"))?;
    if spec.contract != CONTRACT {
        return Err(format!("specification of contract {}, this driver speaks {CONTRACT}", spec.contract));
    }
    if spec.run.len() != payload::RUN_LEN {
        return Err(format!("run {:?} is not {} characters", spec.run, payload::RUN_LEN));
    }
    for client in &spec.clients {
        if !sdk.protocols.contains(&client.protocol.as_str()) {
            let speaks = sdk.protocols.join(", ");
            return Err(format!("client {} wants {}, {} {} speaks {speaks}", client.process, client.protocol, sdk.name, sdk.version));
        }
        if client.endpoints.is_empty() {
            return Err(format!("client {} has no endpoint", client.process));
        }
    }
    Ok(spec)
}

/// Runs all clients until each has ended.
async fn run(sdk: Rc<Sdk>, spec: Rc<Spec>, writer: &Rc<Writer>) {
    let mut processes = HashMap::new();
    let mut running = JoinSet::new();
    for client in &spec.clients {
        let process = Process::new(&sdk, &spec, client.clone(), writer, None);
        let (commands, queue) = mpsc::unbounded_channel();
        if client.start != "waiting" {
            let _ = commands.send("connect".to_string()); // it has not ended yet
        }
        running.spawn_local(process.clone().run(queue));
        processes.insert(client.process, (process, commands));
    }
    let mut input = read_commands();
    loop {
        tokio::select! {
            ended = running.join_next() => if ended.is_none() { return },
            command = input.recv() => match command {
                Some(command) => pass_on(&processes, &command),
                None => break,
            },
        }
    }
    for (process, commands) in processes.values() {
        process.quit.open();
        let _ = commands.send("abandon".to_string()); // or it has ended
    }
    while running.join_next().await.is_some() {}
}

type Processes = HashMap<i32, (Rc<Process>, mpsc::UnboundedSender<String>)>;

fn pass_on(processes: &Processes, command: &Command) {
    for (number, (_, commands)) in processes {
        if command.process == ALL || command.process == *number {
            let _ = commands.send(command.what.clone()); // or it has ended
        }
    }
}

/// Reads commands on a thread of its own; the channel ends with stdin.
fn read_commands() -> mpsc::UnboundedReceiver<Command> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let read = move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(command) => {
                    if sender.send(command).is_err() {
                        return;
                    }
                }
                Err(error) => eprintln!("driver: command {line:?}: {error}"),
            }
        }
    };
    std::thread::Builder::new().spawn(read).expect("a thread for the commands");
    receiver
}

#[cfg(test)]
mod tests {
    #[test]
    fn whose_source_it_is() {
        assert!(super::ours(file!()));
        assert!(super::ours("src/main.rs"));
        for other in ["/home/registry/src/index-1/rumqttc-0.25.1/src/state.rs", "library/std/src/thread/mod.rs"] {
            assert!(!super::ours(other), "{other}");
        }
    }
}
