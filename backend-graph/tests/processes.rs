//! Runs on libtorch in processes that were made by `fork`, and where the system gives no threads: results or errors, and no
//! end of the process, and no waiting for what is not there.
#![cfg(all(feature = "libtorch", target_os = "linux"))]

use acc_core::prelude::*;
use backend_graph::Libtorch;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Work that threads share: element by element, sums, a matrix product, a chain that goes in blocks.
fn work() -> f64 {
    let n = 1 << 21;
    let chain = generate(n, |i| i.to::<f64>()).map(|x| (x * 0.5 + 1.0).sqrt() * 0.25 - x);
    let m = generate((512, 512), |(i, j)| (i + j).to::<f64>()).compute();
    let torch = Libtorch::cpu();
    torch.run(chain.sum()).unwrap().value() + torch.run(m.matmul(&m).sum().sum()).unwrap().value()
}

/// What holds in a child of this process that runs this test alone, with a variable of the environment.
fn in_process(test: &str, variable: &str) -> ExitStatus {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child.args([test, "--exact", "--nocapture"]).env(variable, "1");
    let mut child = child.spawn().unwrap();
    let start = Instant::now();
    let mut hangs = false;
    while !hangs && child.try_wait().unwrap().is_none() {
        hangs = start.elapsed() > Duration::from_secs(120);
        std::thread::sleep(Duration::from_millis(20));
    }
    if hangs {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    assert!(!hangs, "{test} hangs");
    status
}

#[test]
fn a_child_made_by_fork_runs() {
    const ALONE: &str = "ACC_TEST_FORK";
    if std::env::var_os(ALONE).is_none() {
        // Other tests' threads would be in the middle of something.
        assert!(in_process("a_child_made_by_fork_runs", ALONE).success());
        return;
    }
    let parent = work();
    // SAFETY: the child runs this thread alone, and ends without cleaning up what is the parent's.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: as above. A child that hangs is ended by the signal.
            unsafe {
                libc::alarm(60);
                libc::_exit(if work() == parent { 0 } else { 1 });
            }
        }
        child => {
            let mut status = 0;
            // SAFETY: `status` is written to.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status}");
            // The parent goes on with its threads.
            assert_eq!(work(), parent);
        }
    }
}

#[test]
fn a_host_without_threads_runs() {
    const ALONE: &str = "ACC_TEST_NO_THREADS";
    if std::env::var_os(ALONE).is_none() {
        assert!(in_process("a_host_without_threads_runs", ALONE).success());
        return;
    }
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: no memory is passed but `none`, which is read. The limit does not hold for root, who becomes nobody.
    unsafe {
        if libc::geteuid() == 0 {
            assert_eq!(libc::setuid(65534), 0);
        }
        assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &raw const none), 0);
    }
    assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "the limit does not hold");
    assert!(work() > 0.0);
}
