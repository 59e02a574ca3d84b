//! Child processes: started, waited for, and interrupted together with us.
//!
//! Ctrl-C in a terminal reaches the whole process group, so a child hears it by itself. We stay alive
//! until it has ended: a demo may have a frame to finish, and set-up has a folder to take away. A signal
//! sent to us alone is passed on after a short grace.

use crate::error::Error;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(15);
/// How long a child may take to end by itself after an interrupt before it is told to.
const GRACE: Duration = Duration::from_secs(2);
/// How long after that it is killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// From now on SIGINT, SIGTERM and SIGHUP set a flag instead of ending this process.
///
/// # Errors
///
/// Never on Linux unless called twice.
pub fn catch_interrupts() -> Result<(), Error> {
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::SeqCst)).map_err(|error| Error::Answer {
        program: "signal handler".to_owned(),
        problem: format!("{error}; run the command again"),
    })
}

/// Fails if an interrupt has arrived. Long work calls it between steps.
///
/// # Errors
///
/// [`Error::Interrupted`].
pub fn check_interrupt() -> Result<(), Error> {
    if INTERRUPTED.load(Ordering::SeqCst) { Err(Error::Interrupted) } else { Ok(()) }
}

/// Starts `command` with what it inherits, and waits for it.
///
/// # Errors
///
/// [`Error::Start`] if it cannot be started.
pub fn run(command: &mut Command) -> Result<ExitStatus, Error> {
    let mut child = start(command)?;
    wait(&mut child, command, None).map(|status| status.unwrap_or_default())
}

/// Like [`run`], but ends the child after `limit`: `None` says that it took longer.
///
/// # Errors
///
/// [`Error::Start`] if it cannot be started.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>, Error> {
    let mut child = start(command)?;
    wait(&mut child, command, Some(limit))
}

/// Runs `command` and gives back what it wrote. It reads nothing.
///
/// # Errors
///
/// [`Error::Start`] if it cannot be started, [`Error::Interrupted`] if it was interrupted with us.
pub fn output(command: &mut Command) -> Result<Output, Error> {
    let mut child = start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let stdout = read_aside(child.stdout.take());
    let stderr = read_aside(child.stderr.take());
    let status = wait(&mut child, command, None)?.unwrap_or_default();
    check_interrupt()?;
    // A reader cannot panic; an empty text is what a closed pipe gives too.
    Ok(Output {
        status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    })
}

/// Reads a pipe to its end on a thread, so that two pipes cannot block each other.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is what there is to show.
            let _ = pipe.read_to_end(&mut text);
        }
        text
    })
}

/// Starts `command`.
///
/// # Errors
///
/// [`Error::Start`].
pub fn start(command: &mut Command) -> Result<Child, Error> {
    check_interrupt()?;
    command.spawn().map_err(|source| Error::Start { program: program(command), source })
}

/// Waits for `child`, which `command` started. `None`: it was ended because `limit` had passed.
///
/// # Errors
///
/// [`Error::Answer`] if the system cannot say what became of it.
pub fn wait(
    child: &mut Child,
    command: &Command,
    limit: Option<Duration>,
) -> Result<Option<ExitStatus>, Error> {
    let began = Instant::now();
    let mut interrupted: Option<Instant> = None;
    let mut told = false;
    loop {
        let state = child.try_wait().map_err(|error| Error::Answer {
            program: program(command),
            problem: format!("cannot be waited for: {error}"),
        })?;
        if let Some(status) = state {
            return Ok(Some(status));
        }
        if limit.is_some_and(|limit| began.elapsed() > limit) {
            // The child may have ended meanwhile: both calls then fail, and there is nothing to end.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        if INTERRUPTED.load(Ordering::SeqCst) {
            let since = interrupted.get_or_insert_with(Instant::now).elapsed();
            if since > GRACE && !told {
                told = true;
                ask_to_end(child.id());
            } else if since > PATIENCE {
                // As above: an error here means that it has ended.
                let _ = child.kill();
            }
        }
        std::thread::sleep(POLL);
    }
}

/// The exit status that stands for `status` in ours: a child ended by a signal counts as failed.
pub fn exit_code(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// The name by which messages call `command`.
pub fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// SIGTERM through the shell: the standard library can only send SIGKILL.
fn ask_to_end(id: u32) {
    // Failing means that the child has just ended, which is what was wanted.
    let _ = Command::new("sh").arg("-c").arg(format!("kill -TERM {id}")).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_passed_on_and_a_signal_is_a_failure() {
        let status = run(Command::new("sh").args(["-c", "exit 2"])).unwrap();
        assert_eq!(exit_code(status), 2);
        let status = run(Command::new("sh").args(["-c", "kill -9 $$"])).unwrap();
        assert_eq!(exit_code(status), 1);
    }

    #[test]
    fn a_child_that_takes_too_long_is_ended() {
        let began = Instant::now();
        let status = run_within(Command::new("sleep").arg("60"), Duration::from_millis(100)).unwrap();
        assert!(status.is_none());
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_missing_program_is_an_error_with_its_name() {
        let error = run(&mut Command::new("/nonexistent/program")).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/program"), "{error}");
        assert_eq!(error.exit_status(), 1);
    }
}
