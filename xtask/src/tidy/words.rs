//! The words of the field: names, comments, help and messages say what a reader of GAP, LAGraph and CUB expects.
//!
//! Invariant: an identifier is looked at part by part (`least_degree`, `LEAST`, `FarLeast`), so that no name hides a word.

use super::Report;
use super::tree::File;

/// Words that are not said, with what is said instead, and what may stand around them: the word before, or the word after.
const WORDS: &[(&str, &str, &[&str], &[&str])] = &[
    ("heaviest", "maximum degree, largest", &[], &[]),
    ("climb", "bottom-up step, pointer jumping", &[], &[]),
    ("climbs", "bottom-up step, pointer jumping", &[], &[]),
    ("climbing", "bottom-up step, pointer jumping", &[], &[]),
    ("hangs", "is hooked onto, depends on", &[], &[]),
    ("hung", "hooked", &[], &[]),
    ("helper", "worker", &[], &[]),
    ("helpers", "workers", &[], &[]),
    ("least", "minimum, smallest", &["at"], &["recently", "significant", "squares"]),
    ("greatest", "maximum, largest", &[], &["common"]),
    ("nobody", "no thread, no process, no vertex", &["as"], &[]),
    ("everybody", "all threads, all vertices", &[], &[]),
    ("patience", "the limit's own name", &[], &[]),
    ("hurry", "what is limited, and by what", &[], &[]),
];

/// Names that are not given, exactly as they are written.
const NAMES: &[(&str, &str)] = &[("Ring", "StorableSemiring"), ("NoRoom", "the error's own name")];

pub fn check(file: &File, report: &mut Report) {
    if file.path == "CHANGELOG.md" || file.path.ends_with("tidy/words.rs") {
        return;
    }
    let mut before = String::new();
    let mut words = words(&file.text).peekable();
    while let Some((line, word)) = words.next() {
        if let Some((_, say)) = NAMES.iter().find(|(name, _)| *name == word) {
            report.finding(format_args!("{}:{line}", file.path), format_args!("{word:?}: say {say}"));
        }
        for part in parts(word) {
            let after = words.peek().map_or("", |(_, word)| word);
            let unsaid = WORDS.iter().find(|(unsaid, ..)| part.eq_ignore_ascii_case(unsaid));
            let unsaid = unsaid.filter(|(_, _, behind, ahead)| !behind.contains(&&*before) && !ahead.contains(&after));
            if let Some((unsaid, say, ..)) = unsaid {
                report.finding(format_args!("{}:{line}", file.path), format_args!("{unsaid:?}: say {say}"));
            }
            before = part.to_lowercase();
        }
    }
}

/// The words of a text with the numbers of their lines; marks of comments are none.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(number, line)| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).map(move |word| (number + 1, word))
    })
}

/// The parts of an identifier: those between underlines, and those that begin with a capital after a small letter.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split('_').flat_map(|piece| {
        let mut starts: Vec<usize> = vec![0];
        starts.extend(
            piece
                .char_indices()
                .zip(piece.chars().skip(1))
                .filter_map(|((at, a), b)| (a.is_lowercase() && b.is_uppercase()).then_some(at + a.len_utf8())),
        );
        starts.push(piece.len());
        starts.windows(2).map(|w| &piece[w[0]..w[1]]).collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let mut report = Report::default();
        check(&File { path: "a.rs".into(), text: text.into() }, &mut report);
        report.findings
    }

    #[test]
    fn words_are_found_in_names_and_in_sentences() {
        assert_eq!(findings("let least_degree = FarLeast::new(LEAST);").len(), 3);
        assert_eq!(findings("// the heaviest\nfn helper() {}").len(), 2);
        assert_eq!(findings("fn f<S: Ring>() {}"), ["a.rs:1: \"Ring\": say StorableSemiring"]);
    }

    #[test]
    fn what_is_said_passes() {
        for text in ["/// at\n/// least one", "// least recently used", "let ring = 1;", "// the smallest of the workers"] {
            assert_eq!(findings(text), [""; 0], "{text}");
        }
    }
}
