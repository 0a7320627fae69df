//! The names of arrays in the source, and how messages name an array.

use super::{ArrayId, Block, Loc, Program};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The names that arrays have in the source, where they have any.
///
/// All are equal, and so are their hashes: two programs that differ in nothing else are the same program.
#[derive(Clone, Debug, Default)]
pub struct Names(Arc<[Option<Arc<str>>]>);

impl Names {
    /// Names by [`ArrayId::index`].
    pub fn new(names: impl IntoIterator<Item = Option<Arc<str>>>) -> Names {
        Names(names.into_iter().collect())
    }

    /// The name of an array.
    pub fn get(&self, a: ArrayId) -> Option<&Arc<str>> {
        self.0.get(a.index())?.as_ref()
    }

    /// How a message names an array: by its name, or by its number.
    pub fn show(&self, a: ArrayId) -> String {
        self.get(a).map_or_else(|| a.to_string(), |name| format!("`{name}`"))
    }
}

impl PartialEq for Names {
    fn eq(&self, _: &Names) -> bool {
        true
    }
}
impl Eq for Names {}
impl Hash for Names {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// An array in a message: known by its number to executors, and by its name and place once it is known which program ran.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrayName {
    id: ArrayId,
    known: Option<Box<Known>>,
}

#[derive(Clone, PartialEq, Debug)]
struct Known {
    name: Option<Arc<str>>,
    defined: Loc,
}

impl ArrayName {
    /// An array, by its name and its definition in a program, unless these are known already.
    #[must_use]
    pub fn in_program(self, program: &Program) -> ArrayName {
        let id = self.id;
        let find = || Known {
            name: program.names.get(id).cloned(),
            defined: definition(&program.body, id).unwrap_or_else(Loc::unknown),
        };
        ArrayName { id, known: Some(self.known.unwrap_or_else(|| Box::new(find()))) }
    }

    /// What a sentence after the first calls the array: its name, or "it".
    pub fn again(&self) -> String {
        self.known.as_ref().and_then(|known| known.name.as_ref()).map_or("it".into(), |name| format!("`{name}`"))
    }

    /// Where the user wrote the operation that defines it, if that is known: parameters have none.
    pub fn defined(&self) -> Option<&Loc> {
        self.known.as_ref().map(|known| &known.defined).filter(|loc| loc.file().is_some())
    }
}

impl From<ArrayId> for ArrayName {
    fn from(id: ArrayId) -> ArrayName {
        ArrayName { id, known: None }
    }
}

impl fmt::Display for ArrayName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known.as_ref().and_then(|known| known.name.as_ref()) {
            Some(name) => write!(f, "`{name}`"),
            // The number means nothing to whoever wrote the program.
            None => f.write_str("an array"),
        }
    }
}

/// Where the statement that defines an array was written.
fn definition(b: &Block, a: ArrayId) -> Option<Loc> {
    b.stmts.iter().find_map(|s| {
        let here = s.results.contains(&a).then(|| s.loc.clone());
        here.or_else(|| s.op.blocks().into_iter().find_map(|b| crate::grow_stack(|| definition(b, a))))
    })
}
