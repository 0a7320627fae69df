//! Looks for a plugin of PJRT at run time. Loading a library runs its code, so paths are absolute, and nothing is looked for
//! in the current folder.

use crate::ffi::{About, Client};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The environment variable that names the plugin to use; `off` for none.
const PLUGIN_VARIABLE: &str = "ACC_XLA";

/// The environment variable that names the folder of caches.
const CACHE_VARIABLE: &str = "ACC_CACHE";

/// The file in the folder `xla` of the cache, where `scripts/xla.sh` puts it.
const PLUGIN_FILE: &str = "pjrt_plugin.so";

/// What was found.
pub(crate) struct Found {
    pub(crate) client: Option<Arc<Client>>,
    /// The plugins that were not used, in the order tried, and why.
    pub(crate) refused: Vec<(PathBuf, String)>,
}

/// The plugin of this process, looked for once.
pub(crate) fn found() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found = Found { client: None, refused: Vec::new() };
        for path in places() {
            match Client::open(&path) {
                Ok(client) => {
                    found.client = Some(Arc::new(client));
                    break;
                }
                Err(why) => found.refused.push((path, why)),
            }
        }
        found
    })
}

/// Where a plugin may be: the one that is named, or the one that the script has brought.
fn places() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os(PLUGIN_VARIABLE) {
        let path = PathBuf::from(named);
        return Some(path).filter(|p| p.is_absolute()).into_iter().collect();
    }
    folder().map(|f| f.join(PLUGIN_FILE)).filter(|p| p.exists()).into_iter().collect()
}

/// The folder of the cache where the script puts what it brings.
fn folder() -> Option<PathBuf> {
    let cache = std::env::var_os(CACHE_VARIABLE).map(PathBuf::from).filter(|p| p.is_absolute());
    #[allow(deprecated, reason = "was wrong on Windows alone, where no library is loaded")]
    let home = || Some(std::env::home_dir()?.join(".cache").join("acc"));
    cache.or_else(home).filter(|p| p.is_absolute()).map(|f| f.join("xla"))
}

/// The folder of the version of jaxlib that processes of a mesh run, where the script puts it: in it are the interpreter
/// that it is for, `python`, and the modules, `site`.
pub fn jaxlib() -> Option<PathBuf> {
    folder().map(|f| f.join(format!("jaxlib-{JAXLIB_VERSION}"))).filter(|f| f.join("python").exists())
}

/// The version of jaxlib that is used: what is called of it is not stable.
pub const JAXLIB_VERSION: &str = "0.10.2";

/// How to get it.
pub const HOW_TO_GET_JAXLIB: &str = "run scripts/xla.sh --processes, which brings jaxlib for the CPU";

/// The plugin of this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// What it says of itself, if there is one.
    pub plugin: Option<About>,
    /// What was tried and not used, and why.
    pub refused: Vec<(PathBuf, String)>,
}

/// How to get a plugin.
pub const HOW_TO_GET_ONE: &str =
    "run scripts/xla.sh, which brings one for the CPU, or name one by ACC_XLA=/path/to/plugin.so";

/// Which plugin runs programs, looked for now if it was not before.
pub fn status() -> Status {
    let found = found();
    Status { plugin: found.client.as_ref().map(|c| c.about.clone()), refused: found.refused.clone() }
}
