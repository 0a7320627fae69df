//! Names and their meanings, in nested blocks.

use std::collections::HashMap;

/// The names that are visible. A look takes the same time however deep blocks are nested.
pub(super) struct Scopes<T> {
    /// By name: its meanings, each with the depth of its block, innermost last.
    names: HashMap<String, Vec<(usize, T)>>,
    /// The names that each open block defines.
    open: Vec<Vec<String>>,
}

impl<T> Default for Scopes<T> {
    fn default() -> Self {
        Scopes { names: HashMap::new(), open: Vec::new() }
    }
}

impl<T: Copy> Scopes<T> {
    /// Begins a block.
    pub(super) fn open(&mut self) {
        self.open.push(Vec::new());
    }

    /// Ends the innermost block, whose names are no longer visible.
    pub(super) fn close(&mut self) {
        for name in self.open.pop().unwrap_or_default() {
            if let Some(meanings) = self.names.get_mut(&name) {
                meanings.pop();
                if meanings.is_empty() {
                    self.names.remove(&name);
                }
            }
        }
    }

    /// Defines a name in the innermost block; `false` if that has the name already.
    pub(super) fn define(&mut self, name: &str, meaning: T) -> bool {
        let depth = self.open.len();
        let Some(block) = self.open.last_mut() else { return true };
        let meanings = self.names.entry(name.into()).or_default();
        if meanings.last().is_some_and(|(at, _)| *at == depth) {
            return false;
        }
        meanings.push((depth, meaning));
        block.push(name.into());
        true
    }

    /// The meaning of a name here.
    pub(super) fn get(&self, name: &str) -> Option<T> {
        self.names.get(name)?.last().map(|(_, meaning)| *meaning)
    }
}
