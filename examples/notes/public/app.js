import { createClient, LatchkeyError } from '/client/index.js'
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

function showVisitor(view = location.hash.slice(1) || 'log-in') {
  element('visitor').hidden = false
  element('user').hidden = true
  element('who').hidden = true
  for (const section of document.querySelectorAll('[data-view]')) section.hidden = section.dataset.view !== view
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

let mailed = ''
function checkMail(email) {
  mailed = email
  element('mailed').textContent = email
  showVisitor('check-mail')
}

onSubmit('sign-up', async (fields) => {
  await client.register(fields)
  checkMail(fields.email)
})
onSubmit('resend', async () => {
  await client.resendVerification(mailed)
  say('Sent.')
})
let challenge = ''
onSubmit('log-in', async (fields) => {
  try {
    const login = await client.login(fields)
    if (login.kind === 'secondStep') {
      challenge = login.challenge
      return showVisitor('second-step')
    }
  } catch (error) {
    if (error instanceof LatchkeyError && error.code === 'login_unverified') return checkMail(fields.email)
    throw error
  }
  await showUser()
})
onSubmit('second-step', async ({ code }) => {
  await client.secondFactor.complete(challenge, code)
  await showUser()
})
onSubmit('forgot', async ({ email }) => {
  await client.forgotPassword(email)
  say('If there is an account with this address, a link is on its way.')
})
onSubmit('reset', async ({ password }) => {
  await client.resetPassword({ code: new URLSearchParams(location.search).get('code'), password })
  history.replaceState(null, '', '/')
  showVisitor('log-in')
  say('Your password has been changed.')
})
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
  element('new-key').hidden = true
  showVisitor('log-in')
})
addEventListener('hashchange', () => element('user').hidden && showVisitor())

if (location.pathname === '/reset-password') showVisitor('reset')
else await showUser().catch((error) => (error.status === 401 ? showVisitor() : say(error.message, 'bad')))
