import type { MailTexts } from './en.ts'
import { durationIn, pluralIn, signInChange, timeIn } from './formats.ts'

const plural = pluralIn('de')
const FINE = 'Wenn du das selbst warst oder darum gebeten hast, musst du nichts tun.'
const INTRUDER =
  'Wenn du es nicht warst: Ändere sofort dein Passwort. Das beendet alle anderen Sitzungen. Prüfe dann, womit man sich bei deinem Konto anmelden kann.'
const signInChanged = signInChange({ account: ({ title }) => `: dein Konto bei ${title}`, notes: [FINE, INTRUDER] })

export const DE: MailTexts = {
  duration: durationIn('de'),
  time: timeIn('de'),
  greeting: 'Hallo,',
  greetingTo: (name) => `Hallo ${name},`,
  footer: ({ title, email }) =>
    `Diese E-Mail wurde von ${title} an ${email} gesendet. Bitte antworte nicht darauf: Antworten werden nicht gelesen.`,
  plainLink: 'Wenn die Schaltfläche nicht funktioniert, kopiere diesen Link in deinen Browser:',
  linkWorks: (lifetime) => `Der Link gilt ${lifetime} lang und funktioniert nur einmal.`,
  codeWorks: (lifetime) => `Der Code gilt ${lifetime} lang und funktioniert nur einmal.`,
  eitherWorks: (lifetime) => `Code und Link gelten ${lifetime} lang. Du kannst nur einen von beiden verwenden, und das nur einmal.`,
  moreKeys: (count) => plural(count, { one: `und ${count} weiterer`, other: `und ${count} weitere` }),
  keyWithoutPrefix: 'ein Schlüssel ohne bekanntes Präfix',
  keyWithPrefix: (prefix) => `ein Schlüssel, der mit ${prefix} beginnt`,
  mails: {
    verify: {
      subject: ({ title }) => `Bestätige deine E-Mail-Adresse für ${title}`,
      heading: 'Bestätige deine E-Mail-Adresse',
      intro: ({ title, email }) =>
        `Willkommen bei ${title}. Um dein Konto zu aktivieren, öffne den Link unten und bestätige, dass ${email} deine Adresse ist.`,
      action: 'E-Mail-Adresse bestätigen',
      note: 'Wenn du dieses Konto nicht erstellt hast, ignoriere diese E-Mail. Ohne den Link kann das Konto nicht verwendet werden.',
    },
    reset: {
      subject: ({ title }) => `Setze dein Passwort für ${title} zurück`,
      heading: 'Setze dein Passwort zurück',
      intro: ({ title, email }) =>
        `Wir haben eine Anfrage erhalten, das Passwort für ${email} bei ${title} zurückzusetzen. Öffne den Link unten, um ein neues Passwort zu wählen.`,
      action: 'Neues Passwort wählen',
      note: 'Wenn du das nicht angefordert hast, ignoriere diese E-Mail. Dein Passwort bleibt unverändert. Gib den Link an niemanden weiter.',
    },
    email_change: {
      subject: ({ title }) => `Bestätige deine neue E-Mail-Adresse für ${title}`,
      heading: 'Bestätige deine neue E-Mail-Adresse',
      intro: ({ title, email }) =>
        `Wir haben eine Anfrage erhalten, ${email} als Adresse eines Kontos bei ${title} zu verwenden. Öffne den Link unten, um zu bestätigen, dass es deine Adresse ist.`,
      action: 'E-Mail-Adresse bestätigen',
      note: 'Wenn du das nicht angefordert hast, ignoriere diese E-Mail und öffne den Link nicht. Ohne ihn verwendet kein Konto deine Adresse.',
    },
    sign_in: {
      subject: ({ title }) => `Dein Anmeldecode für ${title}`,
      heading: 'Dein Anmeldecode',
      intro: ({ title, email }) =>
        `Wir haben eine Anfrage erhalten, dich als ${email} bei ${title} anzumelden. Gib diesen Code dort ein, wo du dich anmelden wolltest, oder öffne den Link:`,
      action: 'Anmelden',
      note: 'Wenn du das nicht angefordert hast, ignoriere diese E-Mail. Ohne den Code oder den Link kann sich niemand anmelden. Gib beides an niemanden weiter.',
    },
    invitation: {
      subject: ({ title }) => `Deine Einladung zu ${title}`,
      heading: 'Deine Einladung',
      intro: ({ title, email }) =>
        `Du bist mit der Adresse ${email} zu ${title} eingeladen. Öffne den Link unten, um ein Passwort zu wählen und dich anzumelden.`,
      action: 'Einladung annehmen',
      note: 'Wenn du das nicht erwartet hast, ignoriere diese E-Mail. Solange du die Einladung nicht annimmst, gibt es kein Konto.',
    },
  },
  notices: {
    password_changed: {
      subject: ({ title }) => `Dein Passwort für ${title} wurde geändert`,
      heading: 'Dein Passwort wurde geändert',
      intro: ({ title, email, time }) => `Das Passwort des Kontos mit der Adresse ${email} bei ${title} wurde am ${time} geändert.`,
      notes: () => [
        FINE,
        'Wenn du es nicht warst: Setze dein Passwort dort zurück, wo du dich anmeldest. Das beendet alle Sitzungen des Kontos. Lösche danach API-Schlüssel, die du nicht kennst.',
      ],
    },
    email_changed: {
      subject: ({ title }) => `Die E-Mail-Adresse deines Kontos bei ${title} wurde geändert`,
      heading: 'Deine E-Mail-Adresse wurde geändert',
      intro: ({ title, email, time }) =>
        `Das Konto mit der Adresse ${email} bei ${title} hat am ${time} eine andere Adresse bekommen. Dies ist die letzte E-Mail zu diesem Konto, die du hier erhältst.`,
      notes: ({ title }) => [
        FINE,
        `Wenn du es nicht warst: Wende dich sofort an den Betreiber von ${title}, denn über diese Adresse kannst du dein Passwort nicht mehr zurücksetzen.`,
      ],
    },
    admin_role: {
      subject: ({ title }) => `Dein Konto bei ${title} ist jetzt ein Admin-Konto`,
      heading: 'Dein Konto ist jetzt ein Admin-Konto',
      intro: ({ title, email, time }) =>
        `Das Konto mit der Adresse ${email} bei ${title} hat am ${time} die Admin-Rolle bekommen. Es kann jetzt alle anderen Konten ändern und löschen.`,
      notes: ({ title }) => [
        FINE,
        `Wenn du das nicht erwartet hast: Ändere dein Passwort und informiere die anderen Admins oder den Betreiber von ${title}.`,
      ],
    },
    key_leaked: {
      subject: ({ title }) => `Ein API-Schlüssel deines Kontos bei ${title} ist öffentlich aufgetaucht`,
      heading: 'Ein API-Schlüssel ist öffentlich aufgetaucht',
      intro: ({ title, email, time }) =>
        `Ein API-Schlüssel des Kontos mit der Adresse ${email} bei ${title} ist öffentlich aufgetaucht. Er wurde am ${time} gemeldet und deaktiviert. Programme, die ihn verwenden, werden abgewiesen.`,
      notes: () => [
        'Erstelle für Programme, die einen Schlüssel brauchen, einen neuen und halte ihn aus öffentlichen Dateien heraus. Den alten am Fundort zu löschen genügt nicht: Es kann Kopien geben.',
        'Prüfe, was mit dem Schlüssel gemacht wurde. Wenn du ihn nicht kennst, lösche ihn und ändere dein Passwort.',
      ],
    },
    factor_added: signInChanged({
      heading: 'Codes aus einer App wurden eingerichtet',
      intro: ({ title, email, time }) =>
        `Für die Anmeldung am Konto mit der Adresse ${email} bei ${title} wurden am ${time} Codes aus einer App oder neue Wiederherstellungscodes eingerichtet.`,
    }),
    factor_removed: signInChanged({
      heading: 'Codes aus einer App wurden ausgeschaltet',
      intro: ({ title, email, time }) =>
        `Für die Anmeldung am Konto mit der Adresse ${email} bei ${title} wurden am ${time} die Codes aus einer App ausgeschaltet.`,
    }),
    factor_reset: signInChanged({
      heading: 'Dein zweiter Faktor wurde zurückgesetzt',
      intro: ({ title, email, time }) =>
        `Ein Admin hat am ${time} die Codes aus einer App, die Wiederherstellungscodes und die Passkeys des Kontos mit der Adresse ${email} bei ${title} entfernt.`,
      advice: 'Wenn du nicht darum gebeten hast: Ändere sofort dein Passwort und informiere den Betreiber des Dienstes.',
    }),
    passkey_added: signInChanged({
      heading: 'Ein Passkey wurde hinzugefügt',
      intro: ({ title, email, time }) =>
        `Für die Anmeldung am Konto mit der Adresse ${email} bei ${title} wurde am ${time} ein Passkey hinzugefügt.`,
    }),
    passkey_removed: signInChanged({
      heading: 'Ein Passkey wurde entfernt',
      intro: ({ title, email, time }) => `Vom Konto mit der Adresse ${email} bei ${title} wurde am ${time} ein Passkey entfernt.`,
    }),
    provider_connected: signInChanged({
      heading: 'Ein Konto eines anderen Anbieters wurde verbunden',
      intro: ({ title, email, time }) =>
        `Für die Anmeldung am Konto mit der Adresse ${email} bei ${title} wurde am ${time} ein Konto eines anderen Anbieters verbunden.`,
    }),
    provider_disconnected: signInChanged({
      heading: 'Ein Konto eines anderen Anbieters wurde getrennt',
      intro: ({ title, email, time }) =>
        `Vom Konto mit der Adresse ${email} bei ${title} wurde am ${time} ein Konto eines anderen Anbieters getrennt.`,
    }),
    recovery_code_used: signInChanged({
      heading: 'Ein Wiederherstellungscode wurde verwendet',
      intro: ({ title, email, time }) =>
        `Bei der Anmeldung am Konto mit der Adresse ${email} bei ${title} wurde am ${time} ein Wiederherstellungscode verwendet.`,
    }),
  },
}
