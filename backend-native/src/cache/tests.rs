//! The cache in the presence of foreign files, and of files that others could have written.

use super::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Instant;

const KIND: Kind = Kind {
    folder: "machine-code",
    what: "Machine code",
    suffix: ".kernel",
    format: Format::Binary,
    max_folder_bytes: 100_000,
    max_file_bytes: 50_000,
};

/// A temporary folder, removed when dropped.
pub(crate) struct Base(pub(crate) PathBuf);

impl Base {
    pub(crate) fn new(name: &str) -> Base {
        let base = std::env::temp_dir().join(format!("acc-cache-{name}-{}-{:x}", std::process::id(), entry::random()));
        fs::create_dir_all(&base).unwrap();
        Base(base)
    }

    fn cache(&self) -> Cache {
        Cache::at(&self.0, &KIND).unwrap()
    }

    fn refusal(&self) -> String {
        Cache::at(&self.0, &KIND).err().unwrap()
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn key(text: impl ToString) -> Key {
    Key::new(&[&text.to_string()])
}

fn path(cache: &Cache, key: &Key) -> PathBuf {
    cache.folder.path().join(key.file_name(KIND.suffix))
}

#[test]
fn what_was_put_is_there_and_what_is_damaged_is_not() {
    let base = Base::new("damage");
    let cache = base.cache();
    let (one, two) = (key(1), key(2));
    assert_eq!(cache.get(&one), None);
    cache.put(&one, b"code");
    assert_eq!(cache.get(&one).as_deref(), Some(&b"code"[..]));
    // Truncated, corrupted, of another key, empty: it is removed.
    let whole = fs::read(path(&cache, &one)).unwrap();
    let mut changed = whole.clone();
    changed[22] ^= 1;
    for bytes in [&whole[..41], &whole[..20], &changed, &[]] {
        fs::write(path(&cache, &one), bytes).unwrap();
        assert_eq!(cache.get(&one), None);
        assert!(!path(&cache, &one).exists());
    }
    fs::copy(path(&cache, &one).with_file_name("CACHEDIR.TAG"), path(&cache, &one)).unwrap();
    assert_eq!(cache.get(&one), None);
    fs::write(path(&cache, &two), &whole).unwrap();
    assert_eq!(cache.get(&two), None);
    cache.put(&one, b"code");
    assert_eq!(cache.get(&one).as_deref(), Some(&b"code"[..]));
}

#[test]
fn only_its_own_files_are_removed() {
    let base = Base::new("size");
    // Photos beside the cache, and a file that a user put into it.
    fs::write(base.0.join("holiday.jpg"), vec![1; 300_000]).unwrap();
    let cache = base.cache();
    let mine = cache.folder.path().join("notes.kernel");
    fs::write(&mine, vec![2; 300_000]).unwrap();
    let left_over = cache.folder.path().join(entry::draft_name(&key("left over")));
    let written_now = cache.folder.path().join(entry::draft_name(&key("written now")));
    for draft in [&left_over, &written_now] {
        fs::write(draft, b"half").unwrap();
    }
    let old = SystemTime::now() - 2 * DRAFT_LIFETIME;
    fs::File::options().append(true).open(&left_over).unwrap().set_modified(old).unwrap();
    for number in 0..4 * WRITES_PER_TRIM + 1 {
        cache.put(&key(number), &[7; 1000]);
    }
    let files = cache.folder.files().unwrap();
    let held: u64 = files.iter().filter(|f| entry::is_file_name(&f.name, KIND.suffix)).map(|f| f.bytes).sum();
    assert!(held <= 100_000 && held > 10_000, "{held}");
    assert!(mine.exists() && base.0.join("holiday.jpg").exists());
    assert!(!left_over.exists() && written_now.exists());
}

#[test]
fn a_folder_that_it_did_not_make_is_not_used() {
    let base = Base::new("unmarked");
    let folder = base.0.join("machine-code");
    fs::create_dir(&folder).unwrap();
    assert!(base.refusal().contains("not marked"), "{}", base.refusal());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::write(folder.join("CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc55\n# of another tool\n").unwrap();
    assert!(base.refusal().contains("machine-code"), "{}", base.refusal());
}

#[test]
fn what_others_may_write_is_not_run() {
    let base = Base::new("others");
    let (cache, key) = (base.cache(), key(1));
    let folder = cache.folder.path().to_path_buf();
    cache.put(&key, b"code");
    for mode in [0o620, 0o602, 0o666] {
        cache.put(&key, b"code");
        fs::set_permissions(path(&cache, &key), Permissions::from_mode(mode)).unwrap();
        assert_eq!(cache.get(&key), None, "{mode:o}");
    }
    for mode in [0o770, 0o707, 0o777] {
        fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        assert!(base.refusal().contains("others may write it"), "{}", base.refusal());
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    assert!(Cache::at(&base.0, &KIND).is_ok());
}

#[test]
fn what_belongs_to_somebody_else_is_not_run() {
    let base = Base::new("owner");
    let (cache, key) = (base.cache(), key(1));
    cache.put(&key, b"code");
    // Only the superuser can change the owner.
    if std::os::unix::fs::chown(path(&cache, &key), Some(12345), None).is_err() {
        return;
    }
    assert_eq!(cache.get(&key), None);
    std::os::unix::fs::chown(cache.folder.path(), Some(12345), None).unwrap();
    assert!(base.refusal().contains("belongs to the user 12345"), "{}", base.refusal());
}

#[test]
fn links_are_not_followed() {
    let base = Base::new("links");
    let elsewhere = Base::new("elsewhere");
    let (cache, key) = (base.cache(), key(1));
    cache.put(&key, b"code");
    fs::rename(path(&cache, &key), elsewhere.0.join("code")).unwrap();
    symlink(elsewhere.0.join("code"), path(&cache, &key)).unwrap();
    assert_eq!(cache.get(&key), None);
    // The new file replaces the link, not its target.
    cache.put(&key, b"other code");
    assert_eq!(cache.get(&key).as_deref(), Some(&b"other code"[..]));
    assert!(fs::read(elsewhere.0.join("code")).unwrap().windows(4).any(|w| w == b"code"));
    fs::rename(cache.folder.path(), elsewhere.0.join("folder")).unwrap();
    symlink(elsewhere.0.join("folder"), cache.folder.path()).unwrap();
    assert!(Cache::at(&base.0, &KIND).is_err());
}

#[test]
fn pipes_devices_and_folders_in_the_place_of_a_file_stop_nobody() {
    let base = Base::new("pipes");
    let (cache, key) = (base.cache(), key(1));
    let place = path(&cache, &key);
    let begun = Instant::now();
    let pipe = |at: &Path| assert!(std::process::Command::new("mkfifo").arg(at).status().unwrap().success());
    pipe(&place);
    assert_eq!(cache.get(&key), None);
    pipe(&place);
    cache.put(&key, b"code");
    assert_eq!(cache.get(&key).as_deref(), Some(&b"code"[..]));
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    assert_eq!(cache.get(&key), None);
    cache.put(&key, b"code");
    assert_eq!(cache.get(&key), None);
    assert!(cache.folder.files().unwrap().iter().all(|f| f.name == "CACHEDIR.TAG"));
    fs::remove_dir(&place).unwrap();
    // The tag, and the folder itself.
    let tag = cache.folder.path().join("CACHEDIR.TAG");
    fs::remove_file(&tag).unwrap();
    pipe(&tag);
    assert!(base.refusal().contains("it is no regular file"), "{}", base.refusal());
    fs::remove_dir_all(cache.folder.path()).unwrap();
    pipe(cache.folder.path());
    assert!(Cache::at(&base.0, &KIND).is_err());
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn large_files_are_neither_read_nor_written() {
    let base = Base::new("large");
    let (cache, key) = (base.cache(), key(1));
    cache.put(&key, &vec![0; KIND.max_file_bytes as usize]);
    assert!(!path(&cache, &key).exists());
    let file = fs::File::create(path(&cache, &key)).unwrap();
    fs::set_permissions(path(&cache, &key), Permissions::from_mode(0o600)).unwrap();
    // A sparse file takes no space.
    file.set_len(1 << 40).unwrap();
    assert_eq!(cache.get(&key), None);
    assert!(!path(&cache, &key).exists());
}

#[test]
fn many_processes_at_once_make_one_folder_and_whole_files() {
    let base = Base::new("writers");
    let key = key(9);
    std::thread::scope(|s| {
        for k in 0..4u8 {
            let (base, key) = (&base, &key);
            s.spawn(move || {
                let cache = base.cache();
                for round in 0..50 {
                    cache.put(key, &vec![k; 1000 + round]);
                    let seen = cache.get(key).unwrap();
                    assert!(seen.len() >= 1000 && seen.iter().all(|b| *b == seen[0]));
                }
            });
        }
    });
    let left: Vec<_> = fs::read_dir(&base.0).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["machine-code"]);
    assert_eq!(base.cache().folder.files().unwrap().len(), 2);
}
