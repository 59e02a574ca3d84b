//! Which readback buffer holds which frame's feedback. Pure: values of a timeline in, places out.

/// Feedback that a submission copies into a readback buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flight {
    /// Number of the frame.
    pub(super) frame: u64,
    /// Value of the timeline at which the copy is done.
    pub(super) value: u64,
    /// Pairs that fit.
    pub(super) pairs: u32,
}

/// A ring of places, each with one frame's feedback or none.
#[derive(Debug)]
pub(super) struct Ring {
    places: Vec<Option<Flight>>,
    /// Flights whose place was needed before anybody took them.
    pub(super) lost: u64,
    /// Flights that nobody took because a newer one had arrived.
    pub(super) superseded: u64,
}

impl Ring {
    pub(super) fn new(places: usize) -> Self {
        Self { places: vec![None; places.max(1)], lost: 0, superseded: 0 }
    }

    /// The place that the next frame copies into: a free one, or that of the oldest.
    pub(super) fn next(&self) -> usize {
        let age = |place: &usize| self.places[*place].map_or(0, |flight| flight.value);
        (0..self.places.len()).min_by_key(age).unwrap_or(0)
    }

    /// A copy into a place was submitted; what was there is lost.
    pub(super) fn submitted(&mut self, place: usize, flight: Flight) {
        if let Some(held) = self.places.get_mut(place) {
            self.lost += u64::from(held.is_some());
            *held = Some(flight);
        }
    }

    /// The newest flight that has arrived when the timeline stands at `completed`.
    pub(super) fn newest(&self, completed: u64) -> Option<(usize, Flight)> {
        self.flights().filter(|(_, flight)| flight.value <= completed).max_by_key(|(_, flight)| flight.value)
    }

    /// The newest flight of a frame, arrived or not.
    pub(super) fn of_frame(&self, frame: u64) -> Option<(usize, Flight)> {
        self.flights().filter(|(_, flight)| flight.frame == frame).max_by_key(|(_, flight)| flight.value)
    }

    /// Frees the place of a flight that was taken, and those of older ones.
    pub(super) fn take(&mut self, taken: Flight) {
        for held in &mut self.places {
            if held.is_some_and(|flight| flight.value <= taken.value) {
                self.superseded += u64::from(*held != Some(taken));
                *held = None;
            }
        }
    }

    fn flights(&self) -> impl Iterator<Item = (usize, Flight)> {
        self.places.iter().enumerate().filter_map(|(place, flight)| Some((place, (*flight)?)))
    }
}
