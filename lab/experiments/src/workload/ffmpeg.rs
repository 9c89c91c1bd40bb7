//! FFmpeg's own MPEG-4 encoder on a synthetic picture, into a file. Without a server: the encoder itself
//! runs under the filter.

use super::definition::Workload;
use super::error::WorkloadError;
use super::place::Place;
use super::recipe::{Done, Load, Recipe, Step, number_behind};
use super::tools::{Need, Tools};

pub(super) const WORKLOAD: Workload = Workload {
    name: "ffmpeg",
    about: "ffmpeg's MPEG-4 encoder on a synthetic picture",
    loads: &[],
    needs: &[Need::new(&["ffmpeg"], "ffmpeg")],
    recipe,
};

/// Frames per second of a typical machine, from which the number of frames of a run is derived.
const USUAL_RATE: u32 = 600;

fn recipe(tools: &Tools, place: &Place, load: &Load) -> Result<Recipe, WorkloadError> {
    let frames = load.count(USUAL_RATE).to_string();
    let client = Step::new(
        tools.get(0),
        [
            "-hide_banner",
            "-nostdin",
            "-nostats",
            "-benchmark",
            "-y",
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=640x360:rate=30",
            "-frames:v",
            &frames,
            "-c:v",
            "mpeg4",
            "-f",
            "mpegts",
        ],
    )
    .and("", &place.join("picture.ts"));
    Ok(Recipe {
        prepare: Vec::new(),
        server: None,
        fill: Vec::new(),
        client,
        measures: vec!["encoding"],
        unit: "frames",
        read: |text, load| read(text, load.count(USUAL_RATE)),
    })
}

/// With `-benchmark`, ffmpeg prints the time with a precision of a millisecond.
fn read(text: &str, frames: u32) -> Result<Done, String> {
    let count = f64::from(frames);
    let processor = number_behind(text, "utime=")? + number_behind(text, "stime=").unwrap_or(0.0);
    Ok(Done {
        rates: vec![count / number_behind(text, "rtime=")?],
        count,
        processor: Some(processor),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_over_the_time_that_passed() {
        let text = "bench: utime=0.500s stime=0.125s rtime=0.800s\nbench: maxrss=9kB\n";
        assert_eq!(
            read(text, 400),
            Ok(Done { rates: vec![500.0], count: 400.0, processor: Some(0.625) })
        );
        assert!(read("Conversion failed!\n", 400).is_err());
    }
}
