import { createHash, createPublicKey, generateKeyPairSync, randomUUID, verify } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { MergeStrategy } from '@berth/contract'
import { mergeCommits } from '@berth/core/git/merge-commits.ts'
import { gitText, runGit } from '@berth/core/git/run-git.ts'
import { spawn } from '../../../../script/testing/spawn.ts'
import { GitHubActions } from './github-actions.ts'
import { GitHubChecks } from './github-checks.ts'
import { GitHubCommits } from './github-commits.ts'
import { GitHubPeople } from './github-people.ts'
import { GitHubReviews } from './github-reviews.ts'
import { GitHubTalk } from './github-talk.ts'

/** A repository on the server. */
export interface ServedRepository {
  readonly id: number
  /** `owner/name`; a test may rename it. */
  fullName: string
  readonly gitDir: string
  private: boolean
  defaultBranch: string
  /** Branches that refuse pushes. While `blocked` is set, their pull requests are blocked. */
  readonly protected: Set<string>
  blocked: boolean
  /** Installations that may reach the repository. */
  readonly installations: Set<string>
}

/** A token that the server has issued. */
export interface MintedToken {
  readonly installation: string
  readonly token: string
  /** Null for all of the installation. */
  readonly repositories: readonly number[] | null
  readonly permissions: Readonly<Record<string, string>> | null
}

/** A pull request on the server; a test may change it. */
export interface ServedPull {
  readonly repository: number
  readonly number: number
  readonly title: string
  body: string
  readonly head: string
  readonly base: string
  draft: boolean
  state: 'open' | 'closed'
  headOid: string
  mergedAt: string | null
  mergeCommitOid: string | null
  /** Its head branch is another repository's. */
  readonly fork?: boolean
  labels?: string[]
  assignees?: string[]
  locked?: boolean
  /** The host never finds out whether it could merge. */
  undecided?: boolean
}

/** A fault to answer with: a status, silence, no answer, or half of the answer after the work is done. */
export interface Fault {
  /** Requests that it affects: `GET /repositories/7`; git's are `GET /owner/name.git/…`. */
  readonly when: RegExp
  readonly answer:
    | 'never'
    | 'cut'
    | 'half'
    | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  /** Number of requests; all of them by default. */
  readonly times?: number
}

/**
 * A test's own GitHub on loopback: the part of its REST interface that an App needs, and git over HTTP by `git
 * http-backend`. Its tokens expire, belong to an installation and open only the repositories of that installation.
 */
export class GitHubServer implements AsyncDisposable {
  readonly appId = '7'
  readonly privateKey: string
  /** Every request, as `METHOD /path`. */
  readonly requests: string[] = []
  /** Every token, oldest first. */
  readonly minted: MintedToken[] = []
  /** Tokens that were revoked one by one, in that order. */
  readonly revoked: string[] = []
  /** Bytes of packs and refs sent to git. */
  gitBytes = 0
  /** Life of tokens. */
  tokenMs = 3_600_000
  readonly pulls: ServedPull[] = []
  /** What is reported of commits, and required. */
  readonly checks = new GitHubChecks()
  /** Who has an account on it. */
  readonly people = new GitHubPeople()
  /** People's rights, comments and check runs. */
  readonly talk = new GitHubTalk(this.appId)
  /** Reviews of pull requests, and threads on lines. */
  readonly reviews = new GitHubReviews()
  /** Checks of single commits, with their logs. */
  readonly actions = new GitHubActions()
  /** Requests that were answered by 304, as `METHOD /path`. */
  readonly notModified: string[] = []
  /** The commits that it makes and signs. */
  readonly commits = new GitHubCommits()
  readonly #publicKey
  readonly #repositories = new Map<number, ServedRepository>()
  readonly #tokens = new Map<
    string,
    { installation: string; expiresAt: number; repositories: number[] | null; write: boolean }
  >()
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  #faults: { fault: Fault; left: number }[] = []
  #url = ''

  private constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.privateKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    this.#publicKey = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }))
  }

  static async start(): Promise<GitHubServer> {
    const server = new GitHubServer()
    await new Promise<void>(resolve => server.#server.listen(0, '127.0.0.1', resolve))
    await server.actions.listen()
    server.#url = `http://127.0.0.1:${(server.#server.address() as AddressInfo).port}`
    return server
  }

  /** Value of the setting `baseUrl`. */
  get url(): string {
    return this.#url
  }

  /** Adds a bare repository to the server. */
  addRepository(repository: {
    id: number
    fullName: string
    gitDir: string
    installations: string[]
  }): ServedRepository {
    const { installations, ...rest } = repository
    const served: ServedRepository = {
      ...rest,
      private: true,
      defaultBranch: 'main',
      protected: new Set(),
      blocked: false,
      installations: new Set(installations),
    }
    this.#repositories.set(served.id, served)
    return served
  }

  /** Deletes a branch; GitHub closes its open pull requests. */
  async deleteBranch(repository: ServedRepository, branch: string): Promise<void> {
    await runGit(['update-ref', '-d', `refs/heads/${branch}`], { gitDir: repository.gitDir })
    for (const pull of this.pulls) {
      if (pull.repository === repository.id && pull.head === branch) pull.state = 'closed'
    }
  }

  removeRepository(id: number): void {
    this.#repositories.delete(id)
  }

  fail(fault: Fault): void {
    this.#faults.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY })
  }

  mend(): void {
    this.#faults = []
  }

  /** Makes the server forget every token that it has issued. */
  revokeTokens(): void {
    this.#tokens.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.commits[Symbol.dispose]()
    await this.actions[Symbol.asyncDispose]()
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.#url)
    const path = url.pathname.replace(/^\/api\/v3/, '')
    const line = `${request.method} ${path}`
    this.requests.push(line)
    const met = this.#faults.find(({ fault, left }) => left > 0 && fault.when.test(line))
    if (met !== undefined) {
      met.left -= 1
      const { answer } = met.fault
      if (answer === 'never') return
      if (answer === 'cut') return void response.destroy()
      if (answer === 'half') halved.add(response)
      else return reply(response, answer.status, answer.body ?? { message: 'fault' }, answer.headers)
    }
    try {
      if (/^\/(?:api\/v3|login)\//.test(url.pathname)) await this.#rest(request, response, path, url.searchParams)
      else if (url.pathname.startsWith('/logs/')) {
        const log = this.actions.readLog(`${url.pathname}${url.search}`, request.headers.authorization ?? null)
        response.writeHead(log === null ? 404 : 200, { 'content-type': 'text/plain' }).end(log ?? '')
      } else await this.#git(request, response, url)
      if (response.statusCode === 304) this.notModified.push(line)
    } catch (error) {
      if (error instanceof Refused) reply(response, error.status, { message: error.message })
      else reply(response, 500, { message: String(error) })
    }
  }

  async #rest(request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams): Promise<void> {
    const body = await readJson(request)
    const authorization = request.headers.authorization ?? ''
    const ofPeople = this.people.answer({ method: request.method ?? '', path, query, body, authorization })
    if (ofPeople !== null) {
      const { status, body: peopleBody, location } = ofPeople
      if (peopleBody !== undefined) return reply(response, status, peopleBody)
      return void response.writeHead(status, location === undefined ? {} : { location }).end()
    }
    if (path === '/app') return reply(response, 200, { id: 7, slug: 'berth' })
    const minted = path.match(/^\/app\/installations\/(\d+)\/access_tokens$/)
    if (minted?.[1] !== undefined) return reply(response, 201, this.#mint(minted[1], request, body))
    const read = path.match(/^\/app\/installations\/(\d+)$/)
    if (read?.[1] !== undefined) return reply(response, 200, this.#account(read[1], request))
    const token = request.headers.authorization?.replace(/^(token|bearer) /i, '') ?? ''
    const { installation, repositories } = this.#bearer(token)
    if (request.method === 'DELETE' && path === '/installation/token') {
      this.revoked.push(token)
      this.#tokens.delete(token)
      return void response.writeHead(204).end()
    }
    if (path === '/installation/repositories') {
      const all = [...this.#repositories.values()].filter(one => one.installations.has(installation))
      const [size, page] = [Number(query.get('per_page') ?? 30), Number(query.get('page') ?? 1)]
      const shown = all.slice((page - 1) * size, page * size).map(one => this.#describe(one))
      return reply(response, 200, { total_count: all.length, repositories: shown })
    }
    const [, id, rest = ''] = path.match(/^\/repositories\/(\d+)(?:\/(.*))?$/) ?? []
    const repository = this.#repositories.get(Number(id))
    if (repository === undefined || !repository.installations.has(installation)) throw new Refused(404, 'Not Found')
    if (repositories !== null && !repositories.includes(repository.id)) throw new Refused(404, 'Not Found')
    await this.#repository(request, response, repository, rest, { body, query })
  }

  async #repository(
    request: IncomingMessage,
    response: ServerResponse,
    repository: ServedRepository,
    rest: string,
    { body, query }: { body: Record<string, unknown>; query: URLSearchParams },
  ): Promise<void> {
    const call = { method: request.method ?? '', repository: repository.id, rest, query, body }
    const answered = this.actions.answer(call, this.#url) ?? this.reviews.answer(call) ?? this.talk.answer(call)
    if (answered !== null) return reply(response, answered.status, answered.body, answered.headers)
    if (rest === 'git/commits') {
      const made = await this.commits.make(repository.gitDir, body)
      return reply(response, made.status, made.body)
    }
    const checked = this.checks.answer(rest)
    if (checked !== null) return reply(response, checked.status, checked.body)
    const branch = rest.match(/^branches\/(.+)$/)?.[1]
    const number = Number(rest.match(/^pulls\/(\d+)/)?.[1])
    const pull = this.pulls.find(one => one.repository === repository.id && one.number === number)
    if (rest === '') return reply(response, 200, this.#describe(repository))
    if (branch !== undefined) {
      const name = decodeURIComponent(branch)
      const sha = await tipOf(repository, name)
      if (sha === null) throw new Refused(404, 'Branch not found')
      const protection = { required_status_checks: { contexts: this.checks.byProtection } }
      return reply(response, 200, { name, commit: { sha }, protected: repository.protected.has(name), protection })
    }
    if (rest === 'branches' || rest.startsWith('git/matching-refs/heads/')) {
      const prefix =
        rest === 'branches' ? 'refs/heads/' : `refs/${decodeURIComponent(rest.slice('git/matching-refs/'.length))}`
      const listed = await gitText(['for-each-ref', '--format=%(refname)', 'refs/heads/'], {
        gitDir: repository.gitDir,
        exits: [0],
      })
      if (listed === '' && rest !== 'branches') throw new Refused(409, 'Git Repository is empty.')
      const refs = listed.split('\n').filter(ref => ref !== '' && ref.startsWith(prefix))
      const size = Math.min(100, Number(query.get('per_page') ?? 30))
      const page = refs.slice(0, size).map(ref => ({ name: ref.slice('refs/heads/'.length) }))
      return reply(response, 200, rest === 'branches' ? page : refs.map(ref => ({ ref })))
    }
    if (rest === 'pulls' && request.method === 'GET') {
      const found = this.pulls.filter(
        one =>
          one.repository === repository.id &&
          one.state === 'open' &&
          `${repository.fullName.split('/')[0]}:${one.head}` === query.get('head') &&
          one.base === query.get('base'),
      )
      return reply(response, 200, await Promise.all(found.map(one => this.#pull(repository, one))))
    }
    if (rest === 'pulls') return reply(response, 201, await this.#open(repository, body))
    if (pull === undefined) throw new Refused(404, 'Not Found')
    if (request.method === 'PATCH') pull.body = String(body['body'])
    if (rest.endsWith('/merge')) return reply(response, 200, await this.#merge(repository, pull, body))
    reply(response, 200, await this.#pull(repository, pull))
  }

  async #open(repository: ServedRepository, body: Record<string, unknown>): Promise<unknown> {
    const { title, body: text = '', head, base, draft = false } = body as Record<string, string> & { draft?: boolean }
    const headOid = await tipOf(repository, head ?? '')
    const baseOid = await tipOf(repository, base ?? '')
    if (headOid === null || baseOid === null) throw new Refused(422, 'Validation Failed')
    const shared = await gitText(['merge-base', baseOid, headOid], { gitDir: repository.gitDir, exits: [0, 1] })
    if (shared === '' || shared === headOid) throw new Refused(422, `No commits between ${base} and ${head}`)
    const clash = this.pulls.some(
      one => one.repository === repository.id && one.state === 'open' && one.head === head && one.base === base,
    )
    if (clash) throw new Refused(422, `A pull request already exists for ${head}.`)
    const number = this.pulls.filter(one => one.repository === repository.id).length + 1
    const pull: ServedPull = {
      ...{
        repository: repository.id,
        number,
        title: title ?? '',
        body: text ?? '',
        head: head ?? '',
        base: base ?? '',
      },
      ...{ draft: draft === true, state: 'open', headOid, mergedAt: null, mergeCommitOid: null },
    }
    this.pulls.push(pull)
    return this.#pull(repository, pull)
  }

  async #merge(repository: ServedRepository, pull: ServedPull, body: Record<string, unknown>): Promise<unknown> {
    const shown = await this.#pull(repository, pull)
    const baseOid = await tipOf(repository, pull.base)
    if (body.sha !== shown.head.sha) throw new Refused(409, 'Head branch was modified. Review and try the merge again.')
    if (pull.state !== 'open' || shown.mergeable_state !== 'clean' || baseOid === null) {
      throw new Refused(405, 'Pull Request is not mergeable')
    }
    const [title, message] = [body.commit_title ?? `${pull.title} (#${pull.number})`, body.commit_message ?? '']
    const oid = await mergeCommits({
      gitDir: repository.gitDir,
      baseOid,
      headOid: shown.head.sha,
      strategy: body.merge_method as MergeStrategy,
      message: `${title}\n${message === '' ? '' : `\n${message}\n`}`,
      committer: { name: 'GitHub', email: 'noreply@github.com', at: new Date() },
    })
    if (oid === null) throw new Refused(405, 'Merge conflict')
    await runGit(['update-ref', `refs/heads/${pull.base}`, oid, baseOid], { gitDir: repository.gitDir })
    Object.assign(pull, { state: 'closed', mergedAt: new Date().toISOString(), mergeCommitOid: oid })
    return { sha: oid, merged: true, message: 'Pull Request successfully merged' }
  }

  async #pull(repository: ServedRepository, pull: ServedPull) {
    if (pull.state === 'open') pull.headOid = (await tipOf(repository, pull.head)) ?? pull.headOid
    const baseOid = (await tipOf(repository, pull.base)) ?? ''
    const args = ['merge-tree', '--write-tree', '--no-messages', baseOid, pull.headOid]
    const clean = (await runGit(args, { gitDir: repository.gitDir, exits: [0, 1, 128] })).exitCode === 0
    const state = pull.draft ? 'draft' : !clean ? 'dirty' : repository.blocked ? 'blocked' : 'clean'
    return {
      number: pull.number,
      title: pull.title,
      body: pull.body,
      html_url: `${this.#url}/${repository.fullName}/pull/${pull.number}`,
      draft: pull.draft,
      state: pull.state,
      head: { ref: pull.head, sha: pull.headOid, repo: pull.fork === true ? null : { id: pull.repository } },
      base: { ref: pull.base, sha: baseOid, repo: { id: pull.repository } },
      merged_at: pull.mergedAt,
      merge_commit_sha: pull.mergeCommitOid,
      mergeable: pull.undecided === true ? null : clean,
      mergeable_state: pull.undecided === true ? 'unknown' : state,
      locked: pull.locked === true,
      labels: (pull.labels ?? []).map(name => ({ name })),
      assignees: (pull.assignees ?? []).map(login => ({ login })),
    }
  }

  #account(installation: string, request: IncomingMessage): unknown {
    const [first] = this.#reached(installation, request)
    return { id: Number(installation), account: { login: first?.fullName.split('/')[0] } }
  }

  /** Lists the repositories that an installation reaches; only the App may ask. */
  #reached(installation: string, request: IncomingMessage): ServedRepository[] {
    const [head = '', claims = '', signature = ''] =
      request.headers.authorization?.replace(/^bearer /i, '').split('.') ?? []
    const signed = verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      this.#publicKey,
      Buffer.from(signature, 'base64url'),
    )
    if (!signed) throw new Refused(401, 'A JSON web token could not be decoded')
    const reached = [...this.#repositories.values()].filter(one => one.installations.has(installation))
    if (reached.length === 0) throw new Refused(404, 'Not Found')
    return reached
  }

  #mint(installation: string, request: IncomingMessage, body: Record<string, unknown>): unknown {
    this.#reached(installation, request)
    const token = `ghs_${randomUUID().replaceAll('-', '')}Abcd`
    const permissions = body.permissions as Record<string, string> | undefined
    const expiresAt = Date.now() + this.tokenMs
    const repositories = (body.repository_ids as number[] | undefined) ?? null
    this.minted.push({ installation, token, repositories, permissions: permissions ?? null })
    this.#tokens.set(token, {
      installation,
      expiresAt,
      repositories,
      write: permissions?.['contents'] !== 'read',
    })
    return { token, expires_at: new Date(expiresAt).toISOString(), permissions: {} }
  }

  #bearer(token: string) {
    const known = this.#tokens.get(token)
    if (known === undefined || known.expiresAt < Date.now()) throw new Refused(401, 'Bad credentials')
    return known
  }

  #describe(repository: ServedRepository) {
    const web = `${this.#url}/${repository.fullName}`
    return {
      id: repository.id,
      full_name: repository.fullName,
      private: repository.private,
      default_branch: repository.defaultBranch,
      html_url: web,
      clone_url: `${web}.git`,
    }
  }

  async #git(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const [, name, rest] = url.pathname.match(/^\/([^/]+\/[^/]+)\.git(\/.*)$/) ?? []
    const repository = [...this.#repositories.values()].find(one => one.fullName === name)
    const basic = Buffer.from(request.headers.authorization?.replace(/^basic /i, '') ?? '', 'base64').toString()
    const bearer = this.#tokens.get(basic.split(':')[1] ?? '')
    const pushes = rest === '/git-receive-pack' || url.searchParams.get('service') === 'git-receive-pack'
    if (repository?.private === false && !pushes && request.headers.authorization === undefined)
      return this.#backend(request, response, url, repository.gitDir, rest ?? '/')
    if (bearer === undefined) {
      return reply(response, 401, { message: 'Authorization required' }, { 'www-authenticate': 'Basic realm="GitHub"' })
    }
    const reached = repository?.installations.has(bearer.installation) === true
    const within = repository !== undefined && (bearer.repositories?.includes(repository.id) ?? true)
    if (repository === undefined || !reached || !within) throw new Refused(404, 'Not Found')
    if (pushes && !bearer.write) throw new Refused(403, 'Write access to repository not granted.')
    await this.#backend(request, response, url, repository.gitDir, rest ?? '/')
  }

  /** Runs git's own CGI program. */
  async #backend(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    gitDir: string,
    rest: string,
  ): Promise<void> {
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_COUNT: '3',
        ...{ GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' },
        ...{ GIT_CONFIG_KEY_1: 'http.receivepack', GIT_CONFIG_VALUE_1: 'true' },
        ...{ GIT_CONFIG_KEY_2: 'uploadpack.allowFilter', GIT_CONFIG_VALUE_2: 'true' },
        PATH_TRANSLATED: gitDir + rest,
        PATH_INFO: rest,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method ?? 'GET',
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        ...(request.headers['content-length'] !== undefined && { CONTENT_LENGTH: request.headers['content-length'] }),
        ...(request.headers['content-encoding'] && { HTTP_CONTENT_ENCODING: request.headers['content-encoding'] }),
        ...(request.headers['git-protocol'] && { GIT_PROTOCOL: String(request.headers['git-protocol']) }),
        REMOTE_USER: 'x-access-token',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    request.pipe(child.stdin)
    child.stdin.on('error', () => undefined)
    let head: Buffer | null = Buffer.alloc(0)
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      if (head === null) {
        this.gitBytes += chunk.length
        response.write(chunk)
        continue
      }
      head = Buffer.concat([head, chunk])
      const end = head.indexOf('\r\n\r\n')
      if (end === -1) continue
      const fields = head
        .subarray(0, end)
        .toString('latin1')
        .split('\r\n')
        .map(field => field.split(': '))
      const headers = Object.fromEntries(fields.map(([key = '', value = '']) => [key.toLowerCase(), value]))
      const { status = '200', ...others } = headers
      response.writeHead(Number.parseInt(status, 10), others)
      const body = head.subarray(end + 4)
      this.gitBytes += body.length
      response.write(body)
      head = null
    }
    if (halved.has(response)) response.destroy()
    else response.end()
  }
}

class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

async function tipOf(repository: ServedRepository, branch: string): Promise<string | null> {
  const args = ['show-ref', '--verify', '--hash', '--', `refs/heads/${branch}`]
  const oid = await gitText(args, { gitDir: repository.gitDir, exits: [0, 1, 128] })
  return /^[0-9a-f]{40}$/.test(oid) ? oid : null
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text === '' ? {} : JSON.parse(text)
}

/** Answers whose connection closes in the middle. */
const halved = new WeakSet<ServerResponse>()

function reply(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const text = JSON.stringify(body)
  const length = String(Buffer.byteLength(text))
  const { method, headers: sent } = response.req
  const etag = `W/"${createHash('sha256')
    .update(`${text}${headers['link'] ?? ''}`)
    .digest('hex')}"`
  const named = method === 'GET' && status === 200 ? { etag } : {}
  if (named.etag !== undefined && sent['if-none-match'] === etag) return void response.writeHead(304, named).end()
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...named, ...headers })
  if (halved.has(response)) response.write(text.slice(0, text.length / 2), () => response.destroy())
  else response.end(text)
}
