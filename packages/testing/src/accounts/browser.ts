import { createHash, randomBytes } from 'node:crypto'

/** A form of a page, with the values that a browser would send. */
export interface Form {
  readonly action: string
  readonly fields: Record<string, string>
  readonly buttons: readonly { readonly name: string; readonly value: string }[]
}

/** What a browser shows after it has followed redirects. */
export interface Shown {
  readonly status: number
  /** The address of the page, or of the first redirect that left the service. */
  readonly url: string
  readonly text: string
  readonly headers: Headers
}

const entities: Readonly<Record<string, string>> = { quot: '"', lt: '<', gt: '>', amp: '&' }

const decoded = (text: string) =>
  text.replaceAll(/&(?:#(\d+)|(\w+));/g, (_, number, name) =>
    number === undefined ? (entities[name] ?? '') : String.fromCharCode(Number(number)),
  )

/** A browser without scripts: it keeps cookies by path, follows redirects inside the service and fills forms. */
export class Browser {
  readonly #origin: string
  readonly #others: readonly string[]
  readonly cookies = new Map<string, { value: string; path: string; attributes?: readonly string[] }>()
  readonly headers: Record<string, string>

  /**
   * It comes from an address of its own if the service trusts this machine as a proxy.
   * @param others origins on the same host that it also follows redirects to; cookies ignore ports
   */
  constructor(
    origin: string,
    headers: Record<string, string> = { 'x-forwarded-for': [10, ...randomBytes(3)].join('.') },
    others: readonly string[] = [],
  ) {
    this.#origin = origin
    this.#others = others
    this.headers = headers
  }

  get(url: string): Promise<Shown> {
    return this.#follow(new URL(url, this.#origin), { method: 'GET' })
  }

  post(url: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Shown> {
    const body = new URLSearchParams(fields).toString()
    const own = { 'content-type': 'application/x-www-form-urlencoded', origin: 'null', 'sec-fetch-site': 'same-origin' }
    return this.#follow(new URL(url, this.#origin), { method: 'POST', body, headers: { ...own, ...headers } })
  }

  /** Fills a form of a page and presses a button: the first, or the first one with this value. */
  submit(page: Shown, values: Record<string, string> = {}, button?: string): Promise<Shown> {
    for (const { action, fields, buttons } of formsOf(page)) {
      const pressed = buttons.find(each => button === undefined || each.value === button)
      if (pressed === undefined) continue
      const sent = pressed.name === '' ? {} : { [pressed.name]: pressed.value }
      return this.post(new URL(action, page.url).href, { ...fields, ...sent, ...values })
    }
    throw new Error(`the page has no button ${button}:\n${page.text}`)
  }

  async #follow(url: URL, init: RequestInit): Promise<Shown> {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { accept: 'text/html', ...this.headers, ...init.headers, cookie: this.#cookiesFor(url) },
    })
    this.#keep(response, url)
    const location = response.headers.get('location')
    if (location === null) {
      return { status: response.status, url: url.href, text: await response.text(), headers: response.headers }
    }
    await response.arrayBuffer()
    const next = new URL(location, url)
    if (next.origin !== this.#origin && !this.#others.includes(next.origin))
      return { status: response.status, url: location, text: '', headers: response.headers }
    return this.#follow(next, { method: 'GET' })
  }

  #cookiesFor({ pathname }: URL): string {
    const sent = [...this.cookies].filter(
      ([, { path }]) => pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`),
    )
    return sent.map(([name, { value }]) => `${name}=${value}`).join('; ')
  }

  #keep(response: Response, url: URL): void {
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(/; */)
      const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
      const path = attributes.find(each => /^path=/i.test(each))?.slice(5) ?? url.pathname
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, { value, path, attributes })
    }
  }
}

/** Returns the first form of a page. */
export function formOf(page: Shown): Form {
  const [form] = formsOf(page)
  if (form === undefined) throw new Error(`the page has no form:\n${page.text}`)
  return form
}

function formsOf({ text, url }: Shown): Form[] {
  return [...text.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)].map(([, attributes = '', inside = '']) => {
    const fields: Record<string, string> = {}
    for (const [, input = ''] of inside.matchAll(/<input([^>]*)>/g)) {
      const read = (name: string) => decoded(new RegExp(`\\b${name}="([^"]*)"`).exec(input)?.[1] ?? '')
      const isChosen = !['radio', 'checkbox'].includes(read('type')) || / checked/.test(input)
      if (isChosen) fields[read('name')] = read('value')
    }
    const action = decoded(/action="([^"]*)"/.exec(attributes)?.[1] ?? url)
    return { action, fields, buttons: buttonsIn(inside) }
  })
}

function buttonsIn(inside: string): { name: string; value: string }[] {
  return [...inside.matchAll(/<button([^>]*)>/g)].map(([, attributes = '']) => ({
    name: / name="([^"]*)"/.exec(attributes)?.[1] ?? '',
    value: / value="([^"]*)"/.exec(attributes)?.[1] ?? '',
  }))
}

/** A verifier of PKCE and its challenge. */
export function pkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}
