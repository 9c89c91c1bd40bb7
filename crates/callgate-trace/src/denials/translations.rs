//! The errors that filters return, and the name of `SIGSYS`, in other languages: shells and programs print them in the user's.
//!
//! Source: the translations of glibc (`strerror`, `strsignal`).

use std::borrow::Cow;

/// The texts in English.
const ENGLISH: [&str; 4] =
    ["Operation not permitted", "Permission denied", "Function not implemented", "Bad system call"];

/// The same in other languages.
const TRANSLATIONS: [[&str; 4]; 23] = [
    [
        "L’operació no és permesa",
        "S’ha denegat el permís",
        "La funció no està implementada",
        "La crida al sistema no és vàlida",
    ],
    [
        "Operace není povolena",
        "Operace zamítnuta",
        "Funkce není implementována",
        "Chybné volání systému",
    ],
    [
        "Operationen er ikke tilladt",
        "Adgang nægtet",
        "Funktionen er ikke implementeret",
        "Ugyldigt systemkald",
    ],
    [
        "Die Operation ist nicht erlaubt",
        "Keine Berechtigung",
        "Die angeforderte Funktion ist nicht implementiert",
        "Ungültiger Betriebssystemaufruf",
    ],
    [
        "Η λειτουργία δεν επιτρέπεται",
        "Άρνηση πρόσβασης",
        "Η λειτουργία δεν έχει υλοποιηθεί",
        "Εσφαλμένη κλήση συστήματος",
    ],
    [
        "Operación no permitida",
        "Permiso denegado",
        "Función no implementada",
        "Llamada al sistema errónea",
    ],
    [
        "Toiminto ei ole sallittu",
        "Lupa evätty",
        "Funktion toteutus puuttuu",
        "Virheellinen järjestelmäkutsu",
    ],
    [
        "Opération non permise",
        "Permission non accordée",
        "Fonction non implantée",
        "Appel système erroné",
    ],
    [
        "A művelet nem engedélyezett",
        "Engedély megtagadva",
        "A függvény nincs megvalósítva",
        "Hibás rendszerhívás",
    ],
    [
        "Operazione non permessa",
        "Permesso negato",
        "Funzione non implementata",
        "Chiamata di sistema errata",
    ],
    [
        "許可されていない操作です",
        "許可がありません",
        "関数は実装されていません",
        "間違ったシステムコール",
    ],
    ["명령을 허용하지 않음", "허가 거부", "함수를 구현하지 않았습니다", "시스템 콜이 잘못됨"],
    [
        "Operasjonen er ikke tillatt",
        "Ikke tilgang",
        "Funksjonen er ikke implementert",
        "Ugyldig systemkall",
    ],
    [
        "Actie is niet toegestaan",
        "Toegang geweigerd",
        "Functie is niet aanwezig",
        "Onjuiste systeemaanroep",
    ],
    [
        "Operacja niedozwolona",
        "Brak dostępu",
        "Nie zaimplementowana funkcja",
        "Błędne wywołanie systemowe",
    ],
    [
        "Operação não permitida",
        "Permissão recusada",
        "Função não implementada",
        "Má chamada de sistema",
    ],
    [
        "Operação não permitida",
        "Permissão negada",
        "Função não implementada",
        "Chamada de sistema inválida",
    ],
    [
        "Операция не позволена",
        "Отказано в доступе",
        "Функция не реализована",
        "Неверный системный вызов",
    ],
    [
        "Operationen inte tillåten",
        "Åtkomst nekas",
        "Funktion inte implementerad",
        "Felaktigt systemanrop",
    ],
    [
        "İşleme izin verilmedi",
        "Erişim engellendi",
        "İşlev bulunamadı (Bir güncelleme gerekebilir)",
        "Sistem çağrısı hatalı",
    ],
    [
        "Дію заборонено",
        "Відмовлено у доступі",
        "Функцію не реалізовано",
        "Помилковий системний виклик",
    ],
    ["不允许的操作", "权限不够", "函数未实现", "错误的系统调用"],
    ["此項操作並不被允許", "拒絕不符權限的操作", "功能沒有實作", "無效系統呼叫"],
];

/// A line with these texts in English; unchanged if it has none.
pub(super) fn in_english(line: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(line);
    for translation in &TRANSLATIONS {
        for (local, english) in translation.iter().copied().zip(ENGLISH) {
            if text.contains(local) {
                text = Cow::Owned(text.replace(local, english));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_the_signal_are_translated() {
        for (line, english) in [
            ("mbind: Operación no permitida", "mbind: Operation not permitted"),
            ("Llamada al sistema errónea", "Bad system call"),
            ("unshare: Die Operation ist nicht erlaubt", "unshare: Operation not permitted"),
            ("keyctl: 許可がありません", "keyctl: Permission denied"),
            ("错误的系统调用 (核心已转储)", "Bad system call (核心已转储)"),
            ("mbind: Operation not permitted", "mbind: Operation not permitted"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(in_english(line), english);
        }
        assert!(matches!(in_english("mbind: Operation not permitted"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_translation_is_a_part_of_another_text() {
        let all: Vec<&str> = TRANSLATIONS.as_flattened().iter().chain(&ENGLISH).copied().collect();
        for (at, text) in all.iter().enumerate() {
            let others = all.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, other) in others.filter(|(_, other)| other != &text) {
                assert!(!other.contains(text), "{text} in {other}");
            }
        }
    }
}
