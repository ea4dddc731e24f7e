import { createClient } from '/client/index.js'
import { element, onClick, onSubmit, say, showList } from '/forms.js'

const { latchkeyUrl } = await (await fetch('/settings')).json()

// Tokens in localStorage survive a reload and are shared by all tabs. Any script of this page can read them, so it loads none of others.
const client = createClient({
  url: latchkeyUrl,
  storage: {
    get: () => JSON.parse(localStorage.getItem('tokens')),
    set: (tokens) => (tokens ? localStorage.setItem('tokens', JSON.stringify(tokens)) : localStorage.removeItem('tokens')),
  },
})

/** A request to the API of this product, with the access token. */
async function api(path, method = 'GET', fields = undefined) {
  const response = await client.fetch(`/api/notes${path}`, { method, body: fields && JSON.stringify(fields) })
  const body = await response.json()
  if (response.status === 401) return showVisitor()
  if (!response.ok) throw new Error(body.detail)
  return body
}

function showVisitor() {
  element('visitor').hidden = false
  element('user').hidden = true
  element('who').hidden = true
}

async function showUser() {
  const me = await client.me()
  element('name').textContent = `${me.firstName} ${me.lastName}`
  element('visitor').hidden = true
  element('user').hidden = false
  element('who').hidden = false
  await Promise.all([showNotes(), showKeys(), showSessions()])
}

async function showNotes() {
  const notes = (await api('')) ?? []
  showList(
    'notes',
    notes.map(({ id, text, by }) => ({
      text,
      remark: `by ${by}`,
      buttons: { Delete: () => api(`/${id}`, 'DELETE').then(showNotes) },
    })),
  )
}

async function showKeys() {
  const keys = await client.keys.list()
  showList(
    'keys',
    keys.map(({ id, name, prefix, scopes }) => ({
      text: name,
      remark: `${prefix}… · ${scopes.join(', ')}`,
      buttons: {
        Rotate: async () => showSecret(await client.keys.rotate(id)),
        Delete: () => client.keys.delete(id).then(showKeys),
      },
    })),
  )
}

/** Shown once, after the key is made. */
function showSecret({ key }) {
  element('new-key').hidden = false
  element('secret').textContent = key
  element('command').textContent = `curl -H 'X-API-Key: ${key}' ${location.origin}/api/notes`
  return showKeys()
}

async function showSessions() {
  const sessions = await client.sessions.list()
  showList(
    'sessions',
    sessions.map(({ id, ip, createdAt, current }) => ({
      text: current ? 'This browser' : `Session from ${ip}`,
      remark: `since ${new Date(createdAt).toLocaleString()}`,
      buttons: current ? {} : { 'Log out': () => client.sessions.revoke(id).then(showSessions) },
    })),
  )
}

// The account pages of Latchkey do the rest: passwords, second factors, passkeys, mails. They lead back here.
onClick(element('sign-in'), () => client.signInWithRedirect({ returnTo: '/' }))
onClick(element('sign-up'), () => client.signInWithRedirect({ returnTo: '/', page: 'register' }))
onSubmit('write', async ({ text }) => {
  await api('', 'POST', { text })
  await showNotes()
})
onSubmit('create-key', async ({ name, scopes }) => {
  // `identify`: the key proves to this product whose it is, and cannot change the account.
  await showSecret(await client.keys.create({ name, scopes: scopes.split(' '), access: 'identify' }))
})
onClick(element('revoke-others'), async () => {
  await client.sessions.revokeOthers()
  await showSessions()
})
onClick(element('log-out'), async () => {
  await client.logout()
  // Otherwise the next sign-in would pass without a question.
  location.assign(`${latchkeyUrl}/account/sign-out?return_to=${encodeURIComponent(location.origin)}`)
})

try {
  await client.completeSignIn()
} catch (error) {
  say(error.code === 'unknown_state' ? 'Press Sign in to continue in this tab.' : error.message, 'bad')
}
await showUser().catch((error) => (error.status === 401 ? showVisitor() : say(error.message, 'bad')))
