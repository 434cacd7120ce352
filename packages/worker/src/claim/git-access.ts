import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Context } from '@berth/core/context.ts'
import { serveUploadPack } from '@berth/core/git/serve-upload-pack.ts'
import type { AccountToken } from '@berth/core/git-hosts/git-host.ts'
import type { GitHosts } from '@berth/core/git-hosts/git-hosts.ts'
import { LOCAL_HOST, LocalHost } from '@berth/core/git-hosts/local/local-host.ts'
import {
  findSessionAccounts,
  type SessionAccount,
  type SessionAccounts,
} from '@berth/core/repositories/session-accounts.ts'
import { rememberSecrets } from '@berth/core/sessions/log/session-redactor.ts'
import { rememberTokens } from '@berth/core/sessions/log/session-tokens.ts'
import { isMaskedByForm } from '@berth/platform/kit/redactor.ts'
import { Semaphore, SemaphoreCrowded } from '@berth/platform/kit/semaphore.ts'
import type { SandboxService } from '@berth/sandboxes/driver.ts'
import { type Claim, ClaimLost } from './claim.ts'
import { cloneUrl, covers, type LocalTarget, readLocalTarget } from './clone-urls.ts'
import { CredentialRefusal, chooseAccount, originOf, readQuestion, type TokenAccount } from './git-credential.ts'
import { goesOn, taskOf } from './hold-sql.ts'
import { IssuedTokens, LeaseTokens } from './lease-tokens.ts'
import { underFence } from './under-fence.ts'

/** The parts of an environment's revision that decide about Git hosts. */
export interface GitSettings {
  readonly github: boolean
  readonly repositories: readonly { readonly repository: string }[]
}

/** Whether a sandbox gets tokens, as `svc.environment.apply` tells it. */
export type GitHubReport =
  | { readonly status: 'granted'; readonly owners: string[] }
  | { readonly status: 'unavailable'; readonly reason: 'no_grant' | 'authority' | 'temporary' }

const MAX_OWNERS = 16
/** Longest that a host may take over a token. */
const MINT_MS = 10_000
const MAX_QUESTION_BYTES = 16 * 1024

interface AtWork {
  readonly claim: Claim
  readonly git: GitSettings
  readonly tokens: LeaseTokens
  /** Those that the rows of the Session hold. */
  readonly remembered: WeakSet<AccountToken>
}

/** Requests at once: fetches of local repositories by all sandboxes of a worker, and by one; questions of one. */
const MAX_FETCHES = 16
const MAX_LEASE_FETCHES = 4
const MAX_LEASE_QUESTIONS = 16
/** Further requests that wait: of all sandboxes of a worker, and of one. */
const MAX_WAITING = 256
const MAX_LEASE_WAITING = 32

type GitContext = Pick<Context, 'db' | 'clock' | 'gitHosts' | 'log'>

/**
 * Gives the sandboxes of this worker access to Git hosts. A sandbox asks by its proxy, and the claim that is at work in
 * it is the authority: without one, or once it is lost, there is no token. What the Session's owner may use is read at
 * each request, so a revocation counts from the next one on.
 */
export class GitAccess {
  /** Fetches of all sandboxes: each runs a confined git, and those share their bounds with every other helper. */
  readonly #fetches = new Semaphore(MAX_FETCHES, MAX_WAITING)
  readonly #context: GitContext
  readonly #mintMs: number
  /** By lease id. */
  readonly #atWork = new Map<string, AtWork>()
  /** Those that a claim's sandbox was given, by the claim. */
  readonly #issued = new Map<string, IssuedTokens>()

  constructor(context: GitContext, mintMs = MINT_MS) {
    this.#context = context
    this.#mintMs = mintMs
  }

  /** Opens the access to a claim at work on a lease, until the result is disposed of. */
  open(claim: Claim, leaseId: string, git: GitSettings): Disposable {
    const key = keyOf(claim)
    const issued = this.#issued.get(key) ?? new IssuedTokens(this.#context.clock)
    this.#issued.set(key, issued)
    const tokens = new LeaseTokens(this.#context.clock, issued, this.#mintMs)
    const atWork = { claim, git, tokens, remembered: new WeakSet<AccountToken>() }
    this.#atWork.set(leaseId, atWork)
    return {
      [Symbol.dispose]: () => {
        // A worker may adopt its own Run after the process was paused; the newer claim then stays.
        if (this.#atWork.get(leaseId) === atWork) this.#atWork.delete(leaseId)
      },
    }
  }

  /**
   * Revokes the tokens of a claim whose work is over, in the background: no host delays the end of a Run. If the Run or
   * the restore goes on, here or at another worker, its programs may be at work with them; then they expire by themselves.
   */
  retire(claim: Claim): void {
    const issued = this.#issued.get(keyOf(claim))
    if (issued === undefined) return
    this.#issued.delete(keyOf(claim))
    void this.#retire(claim, issued).catch(error => {
      this.#context.log.warn({ err: error, sessionId: claim.sessionId }, 'tokens of a Git host were not revoked')
    })
  }

  /** Returns the answers of one lease's sandbox, for as long as its proxy is served. */
  route(leaseId: string): SandboxService {
    const fetches = new Semaphore(MAX_LEASE_FETCHES, MAX_LEASE_WAITING)
    const questions = new Semaphore(MAX_LEASE_QUESTIONS, MAX_LEASE_WAITING)
    return {
      answer: async (incoming, outgoing, target) => {
        const left = new AbortController()
        outgoing.once('close', () => left.abort())
        try {
          const [, operation] = target.match(/^\/_berth\/git-credential\/(get|erase)$/) ?? []
          const repository = readLocalTarget(target)
          using _slot = await (repository === null ? questions : fetches).take(left.signal)
          if (repository !== null) {
            using _fetch = await this.#fetches.take(left.signal)
            return await this.#serveLocal(leaseId, repository, incoming, outgoing)
          }
          if (operation === undefined || incoming.method !== 'POST')
            return respond(incoming, outgoing, 404, 'unknown path')
          const answer = await this.#credential(leaseId, await readBody(incoming), operation === 'erase')
          respond(incoming, outgoing, 200, answer)
        } catch (error) {
          if (error === left.signal.reason) return
          if (error instanceof SemaphoreCrowded)
            return respond(incoming, outgoing, 503, 'too many requests at once; wait for one to end')
          if (error instanceof CredentialRefusal) return respond(incoming, outgoing, error.status, error.message)
          if (error instanceof ClaimLost)
            return respond(incoming, outgoing, 503, 'another worker takes over; try again')
          this.#context.log.warn({ err: error, leaseId }, 'a sandbox got no answer about a Git host')
          if (outgoing.headersSent) return void outgoing.destroy()
          respond(incoming, outgoing, 503, 'the worker could not ask; try again')
        }
      },
    }
  }

  /**
   * Tries every account, at most 16, and returns what an apply reports.
   * @throws ClaimLost, DatabaseUnavailable
   */
  async report(leaseId: string): Promise<GitHubReport> {
    const atWork = this.#required(leaseId)
    const found = await this.#accounts(atWork)
    if (found.kind === 'authority') return { status: 'unavailable', reason: 'authority' }
    const accounts = inOrder(withTokens(found.accounts, this.#context.gitHosts), atWork.git)
    if (accounts.length === 0) return { status: 'unavailable', reason: 'no_grant' }
    const tried = await Promise.allSettled(accounts.map(account => this.#mint(atWork, account)))
    const owners = accounts.filter((_, index) => tried[index]?.status === 'fulfilled').map(({ login }) => login)
    if (owners.length > 0) return { status: 'granted', owners: [...new Set(owners)] }
    const errors = tried.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
    const other = errors.find(error => !(error instanceof CredentialRefusal))
    if (other !== undefined) throw other
    const passing = errors.some(error => error instanceof CredentialRefusal && error.status === 503)
    return { status: 'unavailable', reason: passing ? 'temporary' : 'authority' }
  }

  /**
   * Returns the URLs that the sandbox clones repositories from, in the order of the names (`owner/name`).
   * @throws ClaimLost, DatabaseUnavailable
   */
  async cloneUrls(leaseId: string, names: readonly string[]): Promise<readonly string[]> {
    const found = await this.#accounts(this.#required(leaseId))
    const accounts = found.kind === 'accounts' ? found.accounts : []
    return names.map(name => cloneUrl(name, accounts, this.#context.gitHosts))
  }

  async #retire(claim: Claim, issued: IssuedTokens): Promise<void> {
    using _left = issued
    if (await goesOn(this.#context.db, claim).catch(() => true)) return
    const errors = await issued.revoke()
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} tokens expire within the hour`)
  }

  async #credential(leaseId: string, body: string, isErased: boolean): Promise<string> {
    const question = readQuestion(body)
    const hosts = this.#context.gitHosts.ids.flatMap(id => this.#context.gitHosts.find(id)?.tokens ?? [])
    const isKnown = hosts.some(tokens => question.origin === null || originOf(tokens) === question.origin)
    if (!isKnown) throw new CredentialRefusal(404, 'no Git host of this deployment')
    const atWork = this.#open(leaseId)
    const found = withTokens(await this.#granted(atWork), this.#context.gitHosts)
    if (found.length === 0) throw new CredentialRefusal(403, 'no account is connected for the owner of this session')
    const account = chooseAccount(question, found)
    if (isErased) {
      atWork.tokens.forget(account)
      return ''
    }
    const { value, expiresAt } = await this.#mint(atWork, account)
    return [
      // Git knows the host that it asked about; others have to be told.
      ...(question.origin === null ? [`host=${new URL(account.tokens.webUrl).host}`] : []),
      'username=x-access-token',
      `password=${value}`,
      `password_expiry_utc=${Math.floor(expiresAt.getTime() / 1000)}`,
      '',
    ].join('\n')
  }

  /** Lets a sandbox fetch from a repository of the data directory. */
  async #serveLocal(
    leaseId: string,
    { fullName, what }: LocalTarget,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void> {
    const accounts = await this.#granted(this.#open(leaseId))
    const host = this.#context.gitHosts.find(LOCAL_HOST)
    const repository = host instanceof LocalHost ? await host.findRepository(fullName) : null
    if (
      host === null ||
      repository === null ||
      !accounts.some(account => account.host === LOCAL_HOST && covers(account, fullName))
    )
      throw new CredentialRefusal(404, `no repository ${fullName} is granted to the owner of this session`)
    if (what === 'other')
      throw new CredentialRefusal(403, `${fullName} can only be read here; publish the changes instead`)
    await serveUploadPack((await host.access(repository, 'read')).url, what, incoming, outgoing)
  }

  #required(leaseId: string): AtWork {
    const atWork = this.#atWork.get(leaseId)
    if (atWork === undefined) throw new Error(`no claim is at work on lease ${leaseId}`)
    return atWork
  }

  /** @throws CredentialRefusal if no claim is at work on a lease, or its environment gives no access */
  #open(leaseId: string): AtWork {
    const atWork = this.#atWork.get(leaseId)
    if (atWork === undefined) throw new CredentialRefusal(403, 'no Run is active in this sandbox, so it gets no token')
    if (atWork.git.github) return atWork
    throw new CredentialRefusal(403, "this session's environment gives no tokens: set `github: true` in its document")
  }

  /** @throws CredentialRefusal if the owner has lost their authority @throws ClaimLost */
  async #granted(atWork: AtWork): Promise<readonly SessionAccount[]> {
    const found = await this.#accounts(atWork)
    if (found.kind === 'accounts') return found.accounts
    throw new CredentialRefusal(403, 'the owner of this session was revoked, or may not read repositories')
  }

  /** @throws ClaimLost */
  async #accounts({ claim }: AtWork): Promise<SessionAccounts> {
    const [task, found] = await Promise.all([
      taskOf(this.#context.db, claim),
      findSessionAccounts(this.#context.db, claim),
    ])
    if (task !== 'run' && task !== 'restore') throw new ClaimLost()
    return found
  }

  /** Returns a token that nobody can put into the Session's log any more, nor into what leaves its sandboxes. */
  async #mint({ claim, git, tokens, remembered }: AtWork, account: TokenAccount): Promise<AccountToken> {
    const token = await tokens.get(
      account,
      git.repositories.map(({ repository }) => repository),
    )
    if (remembered.has(token)) return token
    const values = [token.value, token.basic]
    const unknown = values.filter(secret => !isMaskedByForm(secret))
    await underFence(this.#context, claim, async tx => {
      const now = this.#context.clock.now()
      await rememberTokens(tx, claim, values, now)
      await rememberSecrets(tx, claim, 'environment', unknown, now)
    })
    remembered.add(token)
    return token
  }
}

const keyOf = ({ organizationId, sessionId, token }: Claim) => `${organizationId}/${sessionId}/${token}`

/** Returns those of the accounts whose hosts have tokens. */
function withTokens(accounts: readonly SessionAccount[], hosts: GitHosts): TokenAccount[] {
  return accounts.flatMap(account => {
    const tokens = hosts.find(account.host)?.tokens
    return tokens === undefined ? [] : [{ ...account, tokens }]
  })
}

/** Returns the accounts that a report names: those that the document's repositories name first. */
function inOrder<Account extends SessionAccount>(accounts: readonly Account[], { repositories }: GitSettings) {
  const named = repositories.map(({ repository }) => repository.split('/')[0]?.toLowerCase())
  const rank = ({ login }: Account) => {
    const at = named.indexOf(login.toLowerCase())
    return at === -1 ? named.length : at
  }
  return accounts.toSorted((one, other) => rank(one) - rank(other)).slice(0, MAX_OWNERS)
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  if (Number(incoming.headers['content-length'] ?? Number.NaN) <= MAX_QUESTION_BYTES) return text(incoming)
  throw new CredentialRefusal(403, 'send a credential description of a known length')
}

function respond(incoming: IncomingMessage, outgoing: ServerResponse, status: number, answer: string): void {
  // Reads and drops the rest of the body: closing while the client still writes would lose the answer.
  incoming.resume()
  outgoing.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
  outgoing.end(status === 200 ? answer : `${answer}\n`)
}
