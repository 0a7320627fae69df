//! The location of the user's caches.

use std::ffi::OsString;
use std::path::PathBuf;

/// The environment variable with the folder's path; `off` disables the cache.
const FOLDER_VARIABLE: &str = "ACC_CACHE";

/// The folder that contains those of this crate; the error says why there is none.
pub(super) fn base() -> Result<PathBuf, String> {
    #[allow(deprecated, reason = "was wrong on Windows alone, where no code is kept")]
    choose(std::env::var_os(FOLDER_VARIABLE), std::env::var_os("XDG_CACHE_HOME"), std::env::home_dir())
}

/// The folder, for these settings. A relative path would depend on the working directory, so it is rejected.
fn choose(named: Option<OsString>, caches: Option<OsString>, home: Option<PathBuf>) -> Result<PathBuf, String> {
    if let Some(named) = named {
        return match () {
            () if named.is_empty() => Err(format!("{FOLDER_VARIABLE} is empty")),
            () if named == "off" => Err(format!("{FOLDER_VARIABLE} is off")),
            () => Some(PathBuf::from(named))
                .filter(|p| p.is_absolute())
                .ok_or(format!("{FOLDER_VARIABLE} is no absolute path")),
        };
    }
    // By the XDG base directory specification, relative paths are ignored.
    let caches = caches.map(PathBuf::from).filter(|p| p.is_absolute());
    let caches = match (caches, home) {
        (Some(caches), _) => caches,
        (None, Some(home)) if home.is_absolute() => home.join(".cache"),
        (None, Some(_)) => return Err("HOME is no absolute path".to_string()),
        (None, None) => return Err("there is no home folder".to_string()),
    };
    Ok(caches.join("acc"))
}

#[cfg(test)]
mod tests {
    use super::choose;
    use std::path::Path;

    #[test]
    fn only_absolute_paths_name_a_folder() {
        let chosen = |named: Option<&str>, caches: Option<&str>, home: Option<&str>| {
            choose(named.map(Into::into), caches.map(Into::into), home.map(Into::into))
        };
        assert_eq!(chosen(Some("/a"), Some("/b"), Some("/c")).as_deref(), Ok(Path::new("/a")));
        assert_eq!(chosen(None, Some("/b"), Some("/c")).as_deref(), Ok(Path::new("/b/acc")));
        assert_eq!(chosen(None, None, Some("/c")).as_deref(), Ok(Path::new("/c/.cache/acc")));
        for relative in ["", "b", "./b"] {
            assert_eq!(chosen(None, Some(relative), Some("/c")).as_deref(), Ok(Path::new("/c/.cache/acc")));
        }
        for none in ["", "off", "a", "./a", "../a"] {
            assert!(chosen(Some(none), Some("/b"), Some("/c")).is_err(), "{none}");
        }
        for home in ["", "c", "./c"] {
            assert!(chosen(None, None, Some(home)).is_err(), "{home}");
        }
        assert!(chosen(None, None, None).is_err());
    }
}
