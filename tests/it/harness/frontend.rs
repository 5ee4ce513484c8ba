//! What a client of Postgres says: which statement each of its executions runs.

use std::collections::HashMap;

/// The start-up messages of a client have no type byte.
const SSL_REQUEST: &[u8] = &80_877_103_u32.to_be_bytes();

/// Reads along with one connection's client.
#[derive(Debug, Default)]
pub(super) struct Frontend {
    rest: Vec<u8>,
    started: bool,
    /// Texts by the names under which they were prepared.
    prepared: HashMap<Vec<u8>, String>,
}

impl Frontend {
    /// The statements whose execution these bytes complete. A prepared statement is named by its
    /// text, although only its name is said again.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let mut run = Vec::new();
        while let Some(message) = self.take_message() {
            run.extend(self.read(&message));
        }
        run
    }

    /// One whole message with its type byte; 0 for those that have none.
    fn take_message(&mut self) -> Option<Vec<u8>> {
        let kind = usize::from(self.started);
        let length = self.rest.get(kind..kind + 4)?;
        let length = u32::from_be_bytes(length.try_into().ok()?) as usize;
        if self.rest.len() < kind + length {
            return None;
        }
        let mut message: Vec<u8> = self.rest.drain(..kind + length).collect();
        if !self.started {
            self.started = &message[4..] != SSL_REQUEST;
            message.insert(0, 0);
        }
        Some(message)
    }

    fn read(&mut self, message: &[u8]) -> Option<String> {
        let mut words = message.get(5..)?.split(|byte| *byte == 0);
        match message[0] {
            b'P' => {
                let name = words.next()?.to_vec();
                let text = String::from_utf8_lossy(words.next()?).into_owned();
                self.prepared.insert(name, text);
                None
            }
            // The portal's name, then the statement's.
            b'B' => self.prepared.get(words.nth(1)?).cloned(),
            b'Q' => Some(String::from_utf8_lossy(words.next()?).into_owned()),
            _ => None,
        }
    }
}

/// What a client may say, whole and in pieces.
#[test]
fn an_execution_is_known_by_the_text_that_was_prepared() {
    let message = |kind: &[u8], body: &[u8]| {
        let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
        [kind, &length[..], body].concat()
    };
    let said = [
        message(b"", SSL_REQUEST),
        message(b"", b"\0\x03\0\0user\0postgres\0\0"),
        message(b"P", b"s_1\0select 1\0\0\0"),
        message(b"S", b""),
        message(b"B", b"\0s_1\0\0\0\0\0\0\0"),
        message(b"Q", b"commit\0"),
    ]
    .concat();
    for piece in [1, 7, said.len()] {
        let mut frontend = Frontend::default();
        let run: Vec<String> = said
            .chunks(piece)
            .flat_map(|bytes| frontend.hear(bytes))
            .collect();
        assert_eq!(run, ["select 1", "commit"], "in pieces of {piece}");
    }
}
