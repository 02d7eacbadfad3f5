//! Finds what a document refers to outside itself.
//!
//! The rule kept here: nothing is fetched from a network, and no file is read that is neither named
//! on the command line nor below the folder of the input.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use soapstone_xmltools::generic;

/// Files that a document may refer to.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    /// What `--url-map` says: URLs and the files that stand for them.
    mapped: Vec<(String, PathBuf)>,
    /// The folder of the input, without symbolic links: relative references start from it, and
    /// files are read below it. `None` when there is none.
    base: Option<PathBuf>,
    /// The longest file that is read, in bytes.
    longest: usize,
}

impl Resolver {
    /// For the document in the file `input`.
    pub(super) fn new(
        input: Option<&Path>,
        mapped: Vec<(String, PathBuf)>,
        longest: usize,
    ) -> Self {
        // What comes from standard input refers to files from the working folder.
        let folder = input
            .filter(|input| *input != Path::new("-"))
            .and_then(Path::parent)
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        Self {
            mapped,
            base: folder.canonicalize().ok(),
            longest,
        }
    }

    /// The bytes that a URI stands for; `None` if nothing is known of it.
    pub(super) fn resolve(&self, uri: &str) -> Option<Vec<u8>> {
        if let Some((_, path)) = self.mapped.iter().find(|(url, _)| url == uri) {
            return self.read(path);
        }
        let path = uri
            .strip_prefix("file://")
            .or(uri.strip_prefix("file:"))
            .unwrap_or(uri);
        if path == uri && has_scheme(uri) {
            return None;
        }
        let base = self.base.as_ref()?;
        let path = base.join(unescape(path)?).canonicalize().ok()?;
        path.starts_with(base).then(|| self.read(&path)).flatten()
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let mut octets = Vec::new();
        let most = u64::try_from(self.longest)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        File::open(path)
            .ok()?
            .take(most)
            .read_to_end(&mut octets)
            .ok()?;
        (octets.len() <= self.longest).then_some(octets)
    }
}

impl generic::Resolver for Resolver {
    fn resolve(&mut self, uri: &str) -> Option<Vec<u8>> {
        Resolver::resolve(self, uri)
    }

    fn is_mapped(&self, uri: &str) -> bool {
        self.mapped.iter().any(|(url, _)| url == uri)
    }
}

fn has_scheme(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character))
    })
}

/// A path with its percent escapes resolved; `None` when they are broken.
fn unescape(path: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? << 4 | digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(octets).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_the_folder_of_the_input_are_found_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        std::fs::write(inside.join("a b.xml"), "<a/>").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret", inside.join("link")).unwrap();
        let input = inside.join("in.xml");
        let mapped = vec![(
            "http://example.org/".to_owned(),
            folder.path().join("secret"),
        )];
        let resolver = Resolver::new(Some(&input), mapped, 100);
        assert_eq!(resolver.resolve("a%20b.xml").as_deref(), Some(&b"<a/>"[..]));
        assert_eq!(
            resolver.resolve("../inside/a b.xml").as_deref(),
            Some(&b"<a/>"[..])
        );
        assert_eq!(
            resolver.resolve("http://example.org/").as_deref(),
            Some(&b"secret"[..])
        );
        assert!(generic::Resolver::is_mapped(
            &resolver,
            "http://example.org/"
        ));
        for uri in [
            "../secret",
            "link",
            "/etc/hostname",
            "file:///etc/hostname",
            "http://example.com/",
            "%zz",
        ] {
            assert_eq!(resolver.resolve(uri), None, "{uri}");
        }
    }

    #[test]
    fn a_file_that_is_too_long_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("long"), [b'x'; 101]).unwrap();
        let resolver = Resolver::new(Some(&folder.path().join("in.xml")), Vec::new(), 100);
        assert_eq!(resolver.resolve("long"), None);
    }
}
