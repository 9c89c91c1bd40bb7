//! An explanation as JSON.

use callgate::explain::Permission;
use callgate::purposes::allowed_dangers;
use callgate_requests::explanation::explanation;
use callgate_requests::json::Json;
use callgate_requests::lint as findings;

use super::explained::Explained;

/// The explanation that bindings return, with a summary unless it is about some syscalls only, notes and places.
pub(super) fn json(explained: &Explained<'_>) -> Json {
    let shown = &explained.explanation;
    let mut json = explanation(explained.name, shown);
    let Json::Object(fields) = &mut json else { return json };
    if explained.is_whole {
        fields.push(("summary", summary(explained)));
    }
    let notes = explained.notes.iter().map(|note| findings::finding(note, explained.name, &[]));
    fields.push(("notes", Json::array(notes)));
    if let Some(places) = &explained.places {
        let is_shown = |token, nr| {
            shown.arches.iter().filter(|one| one.arch.token() == token).any(|one| {
                let mut all = one.groups.iter().flat_map(|group| &group.syscalls);
                all.any(|(own, _)| *own == nr)
            })
        };
        fields.push(("rules", places.json(is_shown)));
    }
    json
}

fn summary(explained: &Explained<'_>) -> Json {
    let arches = explained.explanation.arches.iter().map(|arch| {
        let count = |permission| Json::from(arch.count(permission) as u64);
        Json::Object(vec![
            ("arch", arch.arch.name().into()),
            ("allowed", count(Permission::Always)),
            ("conditional", count(Permission::Sometimes)),
            ("delegated", count(Permission::Delegated)),
            ("denied", count(Permission::Never)),
        ])
    });
    let dangers = allowed_dangers(&explained.explanation).into_iter().map(|danger| {
        Json::Object(vec![
            ("syscalls", Json::array(danger.syscalls)),
            ("reason", danger.reason.into()),
            ("arches", Json::array(danger.arches.iter().map(|arch| arch.name()))),
            ("conditional", danger.is_partial.into()),
        ])
    });
    Json::Object(vec![
        ("arches", Json::array(arches)),
        ("conditions", explained.conditions.as_deref().map_or(Json::Null, Json::from)),
        ("assumed", explained.assumed.as_deref().map_or(Json::Null, Json::from)),
        ("dangerous", Json::array(dangers)),
    ])
}
