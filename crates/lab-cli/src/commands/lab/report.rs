//! `soapstone lab report`: one page from what runs of studies kept.
//!
//! The rule kept here: the page and the files beside it are written completely, or the failure is
//! told.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use soapstone_lab::report::{Bar, Reached, Report, Run};
use soapstone_lab::{studies, study};

use crate::failure::Failure;
use crate::files;
use crate::table::{Align, Table};

/// Where runs are kept, unless a folder is named.
pub(super) const RESULTS: &str = "lab-results";
const LINES: &str = "lines.jsonl";
const MANIFEST: &str = "manifest.json";
const PAGE: &str = "report.html";

/// Arguments of `soapstone lab report`.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXAMPLES)]
pub struct ReportArguments {
    /// Folders that runs were kept in, folders of such folders, or files of lines that runs
    /// printed with --json (- is standard input); the runs in lab-results, if none is named
    #[arg(value_name = "FOLDER|FILE")]
    runs: Vec<PathBuf>,
    /// Where the report goes: report.html, with its plots in report-files beside it; Markdown to
    /// standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Tables in Markdown instead of a page
    #[arg(long)]
    markdown: bool,
    /// The bars alone, each beside what was measured; the exit code is 1 where one is missed
    #[arg(long, conflicts_with_all = ["markdown", "output"])]
    bars: bool,
}

/// Writes the report.
///
/// # Errors
/// There is nothing to report, a line is none of a study's, a file cannot be written, or a bar that
/// was asked for is missed.
pub(super) fn run(arguments: &ReportArguments) -> Result<(), Failure> {
    let runs = runs(&arguments.runs)?;
    let report = Report::of(studies::WITH_OWN, &runs);
    if report.is_empty() {
        return Err(
            Failure::new("there is nothing to report: not one line was read")
                .with_hint("soapstone lab run all --quick"),
        );
    }
    if arguments.bars {
        return held(&report.bars());
    }
    let to_standard_output = |path: &Path| path == Path::new("-");
    let output = arguments.output.as_deref();
    if arguments.markdown {
        return files::write(output, report.markdown().as_bytes());
    }
    let page = output.unwrap_or(Path::new(PAGE));
    if to_standard_output(page) {
        return files::print(report.html(&beside(Path::new(PAGE))));
    }
    write(&report, page)
}

/// Prints bars, each beside what was measured.
///
/// # Errors
/// One is missed, or there is none.
fn held(bars: &[Bar]) -> Result<(), Failure> {
    let mut table = Table::new([
        ("experiment", Align::Left),
        ("goal", Align::Left),
        ("stack", Align::Left),
        ("bar", Align::Left),
        ("measured", Align::Left),
        ("", Align::Left),
    ]);
    for bar in bars {
        table.row([
            bar.experiment.clone(),
            bar.says.to_owned(),
            bar.stack.clone(),
            bar.bar.clone(),
            bar.measured.clone(),
            bar.reached.words().to_owned(),
        ]);
    }
    files::print(
        table
            .emphasized(std::io::stdout().is_terminal())
            .to_string(),
    )?;
    let count = |reached| bars.iter().filter(|it| it.reached == reached).count();
    match (count(Reached::Missed), count(Reached::NotMeasured)) {
        (0, unmeasured) if unmeasured == bars.len() => Err(Failure::new("no bar was measured")
            .with_hint("soapstone lab run wsarch --quick --keep wsarch")),
        (0, _) => Ok(()),
        (missed, _) => Err(Failure::new(format_args!(
            "{missed} of {} bars are missed",
            bars.len()
        ))),
    }
}

/// Writes the page, and plots and values beside it.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write(report: &Report<'_>, page: &Path) -> Result<(), Failure> {
    let name = beside(page);
    files::write(Some(page), report.html(&name).as_bytes())?;
    let folder = page.with_file_name(&name);
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
    let attachments = report.attachments();
    for file in &attachments {
        files::write(Some(&folder.join(&file.name)), file.contents.as_bytes())?;
    }
    files::print(format!(
        "{}, and {} files of plots and values in {}\n",
        page.display(),
        attachments.len(),
        folder.display()
    ))
}

/// The folder beside a page: `report-files` for `report.html`.
fn beside(page: &Path) -> String {
    let stem = page.file_stem().unwrap_or_default().to_string_lossy();
    format!("{stem}-files")
}

/// The runs that these paths name, oldest first where a folder has several.
///
/// # Errors
/// A path cannot be read, or a line is none of a study's.
pub(super) fn runs(paths: &[PathBuf]) -> Result<Vec<Run>, Failure> {
    let results = [PathBuf::from(RESULTS)];
    let paths = match paths {
        [] if results[0].is_dir() => &results,
        [] => {
            return Err(Failure::new(format_args!(
                "there is nothing to report: not one line was read, as there is no folder {RESULTS}"
            ))
            .with_hint("soapstone lab run all --quick"));
        }
        named => named,
    };
    let mut runs = Vec::new();
    for path in paths {
        if !path.is_dir() {
            runs.push(of_file(path)?);
        } else if path.join(LINES).exists() {
            runs.push(of_folder(path)?);
        } else {
            runs.extend(of_folders(path)?);
        }
    }
    Ok(runs)
}

fn of_folders(path: &Path) -> Result<Vec<Run>, Failure> {
    let unreadable = |error: std::io::Error| files::unreadable(path, &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let folder = entry.map_err(unreadable)?.path();
        if folder.join(LINES).exists() {
            found.push(of_folder(&folder)?);
        }
    }
    let began = |run: &Run| {
        let manifest = run.manifest.as_ref();
        let began = manifest.and_then(|it| it["began"].as_str());
        (began.map(str::to_owned), run.name.clone())
    };
    found.sort_by_cached_key(began);
    Ok(found)
}

fn of_folder(folder: &Path) -> Result<Run, Failure> {
    let run = of_file(&folder.join(LINES))?;
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    Ok(Run {
        name: name.to_string_lossy().into_owned(),
        ..run
    })
}

/// The lines of a file, with the manifest beside it. The last line of a run that was killed may be
/// half of one: it is left out.
fn of_file(path: &Path) -> Result<Run, Failure> {
    let octets = files::read(Some(path))?;
    let text = std::str::from_utf8(&octets).map_err(|error| Failure::file(path, error))?;
    let ended = text.rfind('\n').map_or(0, |last| last + 1);
    let whole = match study::read(&text[ended..]) {
        Ok(_) => text,
        Err(_) => &text[..ended],
    };
    let records = study::read(whole).map_err(|error| Failure::file(path, error))?;
    let manifest = path.with_file_name(MANIFEST);
    let manifest = if path.file_name() == Some(LINES.as_ref()) && manifest.exists() {
        let octets = files::read(Some(&manifest))?;
        let value = serde_json::from_slice(&octets);
        Some(value.map_err(|error| Failure::file(&manifest, error))?)
    } else {
        None
    };
    Ok(Run {
        name: path.display().to_string(),
        records,
        manifest,
    })
}
