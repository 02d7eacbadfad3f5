//! All routes of a configuration, and which of them serves a path.
//!
//! The rule kept here: the longest path wins, a path matches whole segments only (`/books` serves
//! `/books/1`, not `/bookshop`), and none is served that a backend may read as the path of another
//! route, or of none: neither one that climbs (`/books/../admin`, `/books/..;/admin`,
//! `/books/..%2fadmin`), nor one that is spelled otherwise (`/%62ooks`, `/%2562ooks`, `/BOOKS`,
//! `//books`, `/books;v=1`) than the route that it means.

use super::Route;
use crate::config::path::{has_one_reading, is_below, reading};

/// All routes of one configuration.
pub(crate) struct Routes {
    longest_first: Vec<Route>,
    /// All of their paths are spelled as they are read.
    plainly_spelled: bool,
}

impl Routes {
    pub(crate) fn new(mut routes: Vec<Route>) -> Self {
        routes.sort_by_key(|route| std::cmp::Reverse(route.path().len()));
        Self {
            plainly_spelled: routes.iter().all(|route| route.path() == route.reading),
            longest_first: routes,
        }
    }

    /// The route that serves a path.
    pub(crate) fn find(&self, path: &str) -> Option<&Route> {
        let found = self.longest_first.iter().find(|route| route.serves(path))?;
        if self.plainly_spelled && has_one_reading(path) {
            return Some(found);
        }
        let reading = reading(path)?;
        let meant = self
            .longest_first
            .iter()
            .filter(|route| is_below(&reading, &route.reading))
            .max_by_key(|route| route.reading.len())?;
        // Of routes that are read alike, the one that is spelled so.
        (found.reading == meant.reading).then_some(found)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Route> {
        self.longest_first.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::route;
    use super::*;

    #[test]
    fn the_longest_path_of_whole_segments_wins() {
        let routes = Routes::new(vec![
            route("/books", "http://a/"),
            route("/books/rare", "http://b/"),
            route("/bookshop", "http://c/"),
        ]);
        let found = |path| routes.find(path).map(|route| route.name.as_str());
        assert_eq!(found("/books"), Some("/books"));
        assert_eq!(found("/books/1"), Some("/books"));
        assert_eq!(found("/books/rare/1"), Some("/books/rare"));
        assert_eq!(found("/bookshop"), Some("/bookshop"));
        assert_eq!(found("/bookshelf"), None);
        assert_eq!(found("/books/..rare"), Some("/books"));
    }

    #[test]
    fn a_path_that_climbs_is_not_served_however_it_is_spelled() {
        let routes = Routes::new(vec![route("/books", "http://a/")]);
        for climbing in [
            "/books/../admin",
            "/books/%2e%2E/admin",
            "/books/.%2e",
            "/./books",
            "/books/..;/admin",
            "/books/%2e.;a=b/admin",
            "/books/..%3ba/admin",
            "/books/..%2fadmin",
            "/books/a%2F..%2F..%2Fadmin",
            "/books/%252e%252e/admin",
            "/books/%%32%65%%32%65/admin",
            "/books/..%25252fadmin",
            "/books/%2525252541",
            "/books/..\\admin",
            "/books/..%5cadmin",
        ] {
            let found = routes.find(climbing).map(|route| route.name.as_str());
            assert_eq!(found, None, "{climbing}");
        }
        for staying in ["/books/..a", "/books/...", "/books/a..", "/books/%2e%2e%2e"] {
            assert!(routes.find(staying).is_some(), "{staying}");
        }
    }

    #[test]
    fn a_path_that_may_be_read_as_that_of_another_route_is_not_served() {
        let routes = Routes::new(vec![
            route("/", "http://a/"),
            route("/books", "http://b/"),
            route("/a%20b", "http://c/"),
        ]);
        let found = |path| routes.find(path).map(|route| route.name.as_str());
        for other in [
            "/%62ooks",
            "/books%2f1",
            "//books",
            "/books;v=1",
            "/books;v=1/2",
            "/;v=1/books",
            "\\books",
            "/x/%2e%2e/books",
            "/a b",
            "/BOOKS",
            "/Books/1",
            "/boo\u{212a}s",
            "/%2562ooks",
            "/A%20B",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
        for (path, name) in [
            ("/books/%41", "/books"),
            ("/books/a%2fb;c", "/books"),
            ("/books//1", "/books"),
            ("/shelf;v=1", "/"),
            ("/sh%65lf", "/"),
            ("/SHELF", "/"),
            ("/books/A", "/books"),
            ("/books/%2541", "/books"),
            ("/100%", "/"),
            ("/%zz", "/"),
            ("/a%20b/c", "/a%20b"),
        ] {
            assert_eq!(found(path), Some(name), "{path}");
        }
    }

    #[test]
    fn routes_that_differ_in_capitals_only_are_each_served_as_they_are_spelled() {
        let routes = Routes::new(vec![
            route("/", "http://a/"),
            route("/Books", "http://b/"),
            route("/books", "http://c/"),
        ]);
        let found = |path| routes.find(path).map(|route| route.name.as_str());
        assert_eq!(found("/Books/1"), Some("/Books"));
        assert_eq!(found("/books/1"), Some("/books"));
        assert_eq!(found("/BOOKS/1"), None);
    }
}
