//! The cache on disk: a process uses the machine code that an earlier one compiled.

mod common;

use acc_core::{Executor, RunLimits};
use backend_native::{Native, llvm};
use common::{ints, parse};
use std::process::{Command, Output};

/// The cache folder of this process, if it is a child.
const CHILD: &str = "ACC_TEST_CHILD";

/// How many milliseconds it waits before it ends.
const WAIT: &str = "ACC_TEST_WAIT";

/// In a child process: runs some programs and prints what was compiled. Does nothing in others.
#[test]
fn a_child_process_runs_some_programs() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let native = Native::compiled();
    for k in 0..5 {
        let program = parse(&format!(
            "program(xs: [1]i64) {{
               a: [1]i64 = map(xs, f: |%x: i64| add(mul(%x, {k}i64), 7i64))
               b: [0]i64 = fold(a, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
               yield a, b
             }}"
        ));
        let args = [ints(&[1, 2, 3])];
        let got = native.run_untyped(&program, &args, &RunLimits::none()).unwrap();
        assert_eq!(got, common::reference(&program, &args).unwrap());
    }
    let counts = llvm::counts();
    println!("compiled {} read {}", counts.compiled, counts.read);
}

fn child(test: &str, folder: &std::path::Path, wait: u64) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .env("ACC_CACHE", folder)
        .env(WAIT, wait.to_string())
        .output()
        .unwrap()
}

fn start(folder: &std::path::Path) -> String {
    let out = child("a_child_process_runs_some_programs", folder, 0);
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
    said.lines().find(|l| l.contains("compiled ")).unwrap().to_string()
}

#[test]
fn the_second_start_of_a_process_compiles_nothing() {
    if llvm::status().library.is_none() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("acc-cache-{}", std::process::id()));
    let kernels = |said: &str| said.split(' ').filter_map(|w| w.parse().ok()).collect::<Vec<u64>>();
    let first = kernels(&start(&folder));
    assert!(first[0] >= 5 && first[1] == 0, "{first:?}");
    assert_eq!(kernels(&start(&folder)), [0, first[0]]);
    // Damaged files are replaced.
    for file in files(&folder) {
        std::fs::write(file, b"no code").unwrap();
    }
    assert_eq!(kernels(&start(&folder)), first);
    assert_eq!(kernels(&start(&folder)), [0, first[0]]);
    // Files swapped with each other: the code of other kernels.
    let mut kept: Vec<_> = files(&folder).into_iter().map(|file| (std::fs::read(&file).unwrap(), file)).collect();
    kept.sort();
    for ((_, file), (other, _)) in kept.iter().zip(kept.iter().cycle().skip(1)) {
        std::fs::write(file, other).unwrap();
    }
    assert_eq!(kernels(&start(&folder)), first);
    // Files that are not regular, or not the user's own, are neither waited for nor run.
    for file in files(&folder) {
        std::fs::remove_file(&file).unwrap();
        assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
    }
    assert_eq!(kernels(&start(&folder)), first);
    assert_eq!(kernels(&start(&folder)), [0, first[0]]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The files of a cache.
fn files(cache: &std::path::Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(cache.join("machine-code")).unwrap().flatten().map(|e| e.path());
    files.filter(|path| path.extension().is_some_and(|e| e == "kernel")).collect()
}

/// Without a trusted folder code is compiled in each process, and nothing is written.
#[cfg(unix)]
#[test]
fn without_a_folder_of_the_users_own_nothing_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    if llvm::status().library.is_none() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("acc-no-cache-{}", std::process::id()));
    let own = folder.join("machine-code");
    let compiled = |said: &str| said.contains(" read 0") && !said.contains("compiled 0");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("holiday.jpg"), b"a photo").unwrap();
    for _ in 0..2 {
        assert!(compiled(&start(&folder)));
        assert_eq!(std::fs::read_dir(&own).unwrap().count(), 1);
    }
    std::fs::remove_dir_all(&own).unwrap();
    assert!(compiled(&start(&folder)) && !compiled(&start(&folder)));
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(compiled(&start(&folder)));
    std::fs::remove_dir_all(&folder).unwrap();
    for none in ["", "off", "a/relative/path"] {
        assert!(compiled(&start(std::path::Path::new(none))));
    }
    assert!(!std::path::Path::new("a").exists());
}

/// In a child process: ends it while kernels are being compiled, or before.
#[test]
fn a_child_process_ends_early() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let native = Native::new();
    for k in 0..8 {
        let program = parse(&format!(
            "program(xs: [1]i64) {{
               a: [1]f64 = map(xs, f: |%x: i64| sin(exp(mul(cast(%x, f64), {k}.5f64))))
               yield a
             }}"
        ));
        native.run_untyped(&program, &[ints(&[1, 2, 3])], &RunLimits::none()).unwrap();
    }
    let wait = std::env::var(WAIT).unwrap().parse().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(wait));
    std::process::exit(7);
}

#[test]
fn a_process_may_end_while_kernels_are_compiled() {
    for nth in 0..20 {
        let folder = std::env::temp_dir().join(format!("acc-exit-{}-{nth}", std::process::id()));
        let out = child("a_child_process_ends_early", &folder, 5 * nth);
        assert_eq!(out.status.code(), Some(7), "{:?} {}", out.status, String::from_utf8_lossy(&out.stderr));
        if folder.exists() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}
