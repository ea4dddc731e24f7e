// Everything works without this script. It adds what only a script can do.

// What the script shows, by language. The service fills it in.
const TEXTS = {}
const { lang } = document.documentElement
const texts = TEXTS[lang]

/** Copies the text of an element. Without https there is no clipboard, and the older way copies what is selected. */
async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent)
    return true
  } catch {
    if (source.select) source.select()
    else getSelection().selectAllChildren(source)
    return document.execCommand('copy')
  }
}

/** `<button data-copy="id">`: copies the text of that element. Hidden until here, because it needs the script. */
for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    const isCopied = await copy(document.getElementById(button.dataset.copy))
    const label = button.textContent
    button.textContent = isCopied ? texts.copied : texts.selected
    setTimeout(() => {
      button.textContent = label
    }, 2000)
  })
}

/** Times are written in UTC, for readers without the script. Here they get the zone of the reader, in the same form. */
const zoned = new Intl.DateTimeFormat(lang === 'en' ? 'en-GB' : lang, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
})
for (const time of document.querySelectorAll('time[title]')) {
  const text = zoned.format(new Date(time.dateTime))
  if (time.textContent.endsWith('UTC')) time.textContent = text
  time.title = text
}

/** A form is sent once, however often its button is pressed. A download, which stays on the page, may be repeated. */
for (const form of document.querySelectorAll('form[method="post"]:not([data-download])')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.sent) event.preventDefault()
    form.dataset.sent = 'yes'
  })
}

/** A page that comes back from the history may be sent again. */
addEventListener('pageshow', (event) => {
  if (!event.persisted) return
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent
})

/** Closes the questions that are open over the page, but for the one around an element. Returns those that were closed. */
function closeQuestions(kept) {
  const open = document.querySelectorAll(':is(.title, .card > header, td) .confirm[open]')
  const closed = [...open].filter((question) => !question.contains(kept))
  for (const question of closed) question.open = false
  return closed
}

addEventListener('click', ({ target }) => closeQuestions(target))
addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') closeQuestions()[0]?.firstElementChild.focus()
})

/** `<button data-print>`: prints the page. */
for (const button of document.querySelectorAll('button[data-print]')) {
  button.hidden = false
  button.addEventListener('click', () => print())
}

/** The request of a passkey that waits for the email field. A page has one at a time. */
let waiting
// A question to a passkey is valid for five minutes.
const FRESH_MS = 4 * 60_000

async function askPasskey({ passkey: url, challenge, create }, how) {
  const { parseCreationOptionsFromJSON, parseRequestOptionsFromJSON } = PublicKeyCredential
  if (create) return navigator.credentials.create({ publicKey: parseCreationOptionsFromJSON(JSON.parse(create)) })
  const body = JSON.stringify({ challenge })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return navigator.credentials.get({ publicKey: parseRequestOptionsFromJSON(await response.json()), ...how })
}

/** Sends the form of the button with the answer, without its other fields being complete. */
function send(button, credential) {
  button.form.elements[button.dataset.field].value = JSON.stringify(credential)
  button.form.submit()
}

/** Lets the email field offer the saved passkeys for as long as the page is open. */
async function offerPasskeys(button) {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return
  let isStale = true
  while (isStale) {
    isStale = false
    const own = new AbortController()
    waiting = own
    const timer = setTimeout(() => {
      isStale = true
      own.abort()
    }, FRESH_MS)
    try {
      send(button, await askPasskey(button.dataset, { mediation: 'conditional', signal: own.signal }))
    } catch {
      // Ended by the timer or by the button, or refused by the browser.
    }
    clearTimeout(timer)
  }
}

/** A device refuses to keep a second passkey of the same account. */
function failureText({ dataset }, { name }) {
  if (!dataset.create) return texts.noPasskeyUsed
  return name === 'InvalidStateError' ? texts.hasPasskey : texts.noPasskeyCreated
}

/** `<button data-passkey>`: asks for a passkey, or creates one, and sends its form. */
async function pressPasskey(button) {
  if (button.dataset.create && !button.form.reportValidity()) return
  waiting?.abort()
  button.disabled = true
  try {
    send(button, await askPasskey(button.dataset))
  } catch (error) {
    const note = document.getElementById('passkey-note') ?? document.createElement('p')
    Object.assign(note, { id: 'passkey-note', className: 'problem', role: 'alert', textContent: failureText(button, error) })
    button.form.append(note)
    button.disabled = false
    if ('autofill' in button.dataset) offerPasskeys(button)
  }
}

if (globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) {
  for (const link of document.querySelectorAll('[data-needs-passkeys]')) link.hidden = false
  for (const button of document.querySelectorAll('button[data-passkey]')) {
    button.hidden = false
    button.addEventListener('click', () => pressPasskey(button))
    if ('autofill' in button.dataset) offerPasskeys(button)
    // The key Enter in the name of a new passkey.
    if (button.dataset.create) {
      button.form.addEventListener('submit', (event) => {
        event.preventDefault()
        delete button.form.dataset.sent
        pressPasskey(button)
      })
    }
  }
}
