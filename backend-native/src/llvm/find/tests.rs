//! The search for an LLVM runs nothing that the current folder chooses, and looks for nothing there.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Tells that this process is a child, which looks for an LLVM where it is started.
const CHILD: &str = "ACC_TEST_CHILD";

#[test]
fn a_child_process_looks_for_an_llvm() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    // All of them, whichever would be found first.
    let paths: Vec<PathBuf> = places().iter().flat_map(|place| place()).collect();
    let tried =
        std::env::var_os(LIBRARY_VARIABLE).map(|_| paths.iter().map(|path| open(path).err()).collect::<Vec<_>>());
    println!("\nlooks at {paths:?} {tried:?}");
}

/// A folder of a test's own, removed with what is in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("acc-search-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// A program that leaves a trace wherever it is run.
    fn trap(&self, at: &str) -> PathBuf {
        let program = self.0.join(at);
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::write(&program, format!("#!/bin/sh\ntouch {}\n", self.trace().display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    fn trace(&self) -> PathBuf {
        self.0.join("was-run")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn child(folder: &Path) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "llvm::find::tests::a_child_process_looks_for_an_llvm", "--nocapture"])
        .env(CHILD, "1")
        .env_remove(LIBRARY_VARIABLE);
    child.current_dir(folder);
    child
}

fn said(child: &mut Command) -> String {
    let out = child.output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
    said.lines().find(|l| l.starts_with("looks at ")).unwrap().to_string()
}

/// The search path, with these folders before its own.
fn path(first: &[&str]) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(first.iter().map(PathBuf::from).chain(std::env::split_paths(&path))).unwrap()
}

#[test]
fn no_program_of_the_current_folder_is_run() {
    let folder = Folder::new("programs");
    folder.trap("rustc");
    folder.trap("tools/rustc");
    // A toolchain of the folder's own, for a `rustc` that asks the folder which one to use.
    folder.trap("toolchain/bin/rustc");
    std::fs::create_dir_all(folder.0.join("toolchain/lib")).unwrap();
    std::fs::write(folder.0.join("toolchain/lib/libLLVM.so.99.1"), "no library").unwrap();
    let toolchain = folder.0.join("toolchain");
    let text = format!("[toolchain]\npath = \"{}\"\n", toolchain.display());
    std::fs::write(folder.0.join("rust-toolchain.toml"), text).unwrap();
    std::fs::write(folder.0.join("libLLVM.so.22.1"), "no library").unwrap();
    let elsewhere = said(child(Path::new("/")).env("RUSTUP_HOME", "/nowhere"));
    for first in [&[][..], &["."], &[""], &["tools"], &["./tools", "toolchain/bin"]] {
        let here = said(child(&folder.0).env("PATH", path(first)).env("RUSTUP_HOME", "/nowhere"));
        assert_eq!(here, elsewhere, "{first:?}");
        assert!(!folder.trace().exists(), "{first:?}: a program of the folder was run");
    }
    // Nor is the folder searched because a variable names it by a path that is not absolute.
    std::fs::create_dir_all(folder.0.join("toolchains")).unwrap();
    std::fs::rename(&toolchain, folder.0.join("toolchains/mine")).unwrap();
    for relative in [".", ""] {
        assert_eq!(said(child(&folder.0).env("RUSTUP_HOME", relative)), elsewhere);
    }
}

#[test]
fn a_library_is_named_by_an_absolute_path_or_a_name_alone() {
    let folder = Folder::new("libraries");
    std::fs::write(folder.0.join("libLLVM.so"), "no library").unwrap();
    for relative in ["./libLLVM.so", "../libLLVM.so", "lib/libLLVM.so"] {
        let said = said(child(&folder.0).env(LIBRARY_VARIABLE, relative));
        assert!(said.contains("no absolute path"), "{said}");
    }
    // The dynamic loader does not look in the current folder.
    let said = said(child(&folder.0).env(LIBRARY_VARIABLE, "libLLVM-of-nobody.so"));
    assert!(said.contains("cannot open shared object file"), "{said}");
}
