import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  addGrant,
  Browser,
  databaseUrl,
  hashPassword,
  type Shown,
  sampleRepository,
  signInPerson,
  startTestService,
  type TestService,
} from '@berth/testing/testing.ts'
import { BerthProcess } from './berth-process.ts'

const password = 'correct horse battery'

/** A person with a password, in one organization. */
export interface Person {
  readonly email: string
  readonly password: string
  readonly personId: string
  readonly membershipId: string
  readonly organizationId: string
}

/** A service whose people sign in on its own pages. */
export class PeopleService implements AsyncDisposable {
  readonly test: TestService

  private constructor(test: TestService) {
    this.test = test
  }

  static async start(options: Parameters<typeof startTestService>[0] = {}): Promise<PeopleService> {
    // Each browser of the tests comes from an address of its own, so no bound on attempts is reached.
    const variables = { BERTH_ROLES: 'api,account', BERTH_TRUSTED_PROXIES: '127.0.0.1', ...options.variables }
    return new PeopleService(await startTestService({ ...options, variables }))
  }

  get url(): string {
    return this.test.url
  }

  async newPerson(
    organizationId = this.test.tenant.organizationId,
    access: Parameters<typeof signInPerson>[2] = {},
  ): Promise<Person> {
    const { database } = this.test.db
    const { email, personId, membershipId } = await signInPerson(database, organizationId, access)
    await database.query('update people set password_hash = $2 where id = $1', [personId, await hashPassword(password)])
    return { email, password, personId, membershipId, organizationId }
  }

  /** Makes an organization of this name, with the person as another member. */
  async newOrganization(name: string, { personId }: Person): Promise<string> {
    const { tenant } = await this.test.newTenant()
    const { database } = this.test.db
    await database.query('update organizations set name = $2 where id = $1', [tenant.organizationId, name])
    await database.query(
      `insert into memberships (id, organization_id, person_id, role, permissions, created_at)
       values (gen_random_uuid(), $1, $2, 'member', '{}', now())`,
      [tenant.organizationId, personId],
    )
    return tenant.organizationId
  }

  /** Makes a repository on the service's machine and connects the person's organization to those. */
  async connectRepository(fullName: string, { organizationId }: Person): Promise<void> {
    const { dataDir, db } = this.test
    await sampleRepository(join(dataDir, 'repositories'), fullName)
    const variables = { DATABASE_URL: databaseUrl(db), BERTH_DATA_DIR: dataDir }
    await addGrant(variables, { organizationId, host: 'local', repositories: [] })
  }

  async query<Row extends object>(statement: string, values: readonly unknown[]): Promise<Row[]> {
    return (await this.test.db.database.query<Row>(statement, [...values])).rows
  }

  /** Signs in on the pages, as far as the page that asks to continue. */
  async signInOnPages(address: string, person: Person): Promise<{ browser: Browser; page: Shown }> {
    const browser = new Browser(this.url)
    const first = await browser.get(address)
    return { browser, page: await browser.submit(first, { email: person.email, password: person.password }) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.test[Symbol.asyncDispose]()
  }
}

/** A user's home directory, in which they run `berth`. */
export class Home implements AsyncDisposable {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static async make(): Promise<Home> {
    return new Home(await mkdtemp(join(tmpdir(), 'berth-home-')))
  }

  berth(...args: string[]): BerthProcess {
    return new BerthProcess(args, { cwd: this.path })
  }

  /** Runs a command to its end. */
  async run(...args: string[]): Promise<{ code: number | string; stdout: string; stderr: string }> {
    const it = this.berth(...args)
    const code = await it.ended()
    return { code, stdout: it.stdout, stderr: it.stderr }
  }

  get config(): string {
    return join(this.path, '.config', 'berth')
  }

  profilePath(name: string): string {
    return join(this.config, 'profiles', `${name}.json`)
  }

  async profile(name: string) {
    return JSON.parse(await readFile(this.profilePath(name), 'utf8'))
  }

  /** Changes a profile as a test needs it; `expiresAt` 0 stands for a token at its end. */
  async changeTokens(name: string, tokens: object): Promise<void> {
    const profile = await this.profile(name)
    await writeFile(this.profilePath(name), JSON.stringify({ ...profile, tokens: { ...profile.tokens, ...tokens } }))
  }

  /** Returns the permission bits of every file and folder that `berth` made. */
  async modes(): Promise<Record<string, string>> {
    const names = ['.', ...(await readdir(this.config, { recursive: true }))]
    const bits = async (name: string) => ((await stat(join(this.config, name))).mode & 0o777).toString(8)
    return Object.fromEntries(await Promise.all(names.map(async name => [name, await bits(name)])))
  }

  /** Signs a person in with the browser of this machine. */
  async signIn(service: PeopleService, person: Person, ...args: string[]): Promise<BerthProcess> {
    const it = this.berth('login', '--url', service.url, ...args)
    await land(await service.signInOnPages(await addressOf(it), person))
    await it.ended()
    return it
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.path, { recursive: true })
  }
}

/** Returns the address that a command shows; it is on a line of its own. */
export async function addressOf(it: BerthProcess): Promise<string> {
  await Promise.race([it.shows('stdout', 'Waiting for'), it.ended()])
  const [, address] = /^ {2}(http\S+)$/m.exec(it.stdout.replaceAll('\r', '')) ?? []
  if (address === undefined) throw new Error(`no address: ${await it.ended()}\n${it.stdout}${it.stderr}`)
  return address
}

/** Presses a button of the page that asks to continue, and follows the redirect to the listener. */
export async function land(
  { browser, page }: { browser: Browser; page: Shown },
  button = 'continue',
  change: (url: URL) => void = () => {},
): Promise<Response> {
  const url = new URL((await browser.submit(page, {}, button)).url)
  change(url)
  return fetch(url)
}
