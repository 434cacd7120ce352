import { isAbsolute } from 'node:path'
import ipaddr from 'ipaddr.js'
import Type, { type StaticDecode } from 'typebox'
import { commitsSchema } from './commits.ts'
import { firstPartyClientSchema } from './first-party-clients.ts'
import { identityProviderSchema } from './identity-providers.ts'
import { modelFaults, modelsSchema, providerSchema } from './model-config.ts'
import { runtimeSchema } from './runtime-config.ts'
import { checked, closed, distinct, origin, problemAt, type Read, readBySchema, text, webUrl } from './schema.ts'
import { plain, type SecretSource, secret } from './secret-text.ts'

/** The configuration file with every default filled in and every secret resolved. */
export type Config = ReturnType<typeof parseConfig>
/** A host of Git repositories. */
export type GitHostConfig = Read<StaticDecode<ReturnType<typeof gitHostSchema>>>
/** An archive of an extension that the catalog offers, as a file of every host or by its URL. */
export type CatalogSource = Read<StaticDecode<typeof catalogSource>>
/** The engine that transcribes recordings. */
export type TranscriptionConfig = Read<StaticDecode<ReturnType<typeof transcriptionSchema>>>
/** The provider that searches the web for agents. */
export type SearchConfig = Read<StaticDecode<ReturnType<typeof searchSchema>>>

const gitHostSchema = (source: SecretSource) =>
  checked(
    closed({
      kind: Type.Enum(['github']),
      baseUrl: Type.Optional(webUrl),
      appId: plain(source),
      privateKey: secret(source),
      clientId: Type.Optional(plain(source)),
      clientSecret: Type.Optional(secret(source)),
    }),
    ({ clientId, clientSecret }) => (clientId === undefined) === (clientSecret === undefined),
    'must have clientId and clientSecret together: people connect their accounts by them',
  )

/** At least one dot, and a last label that is not a number, or it would be an address. */
const host = Type.String({ pattern: '^(\\*\\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+(?=.*[a-z])[a-z0-9-]{2,63}$' })
const range = checked(text, ipaddr.isValidCIDR, 'must be a range of addresses, such as 198.51.100.0/24')

/** Limits on the public hosts that sandboxes reach. */
const egress = closed(
  {
    /** Host names; `*.name` covers all names below one. Absent: every public host. */
    hosts: Type.Optional(Type.Array(host, { minItems: 1 })),
    /** Address ranges that stay closed although they are public. */
    refuse: Type.Array(range, { default: [] }),
  },
  { default: {} },
)

const catalogSource = Type.Decode(
  checked(
    closed({
      slug: Type.String({ pattern: '^[a-z][a-z0-9-]{0,127}$' }),
      path: Type.Optional(checked(text, path => isAbsolute(path) && !path.includes('\0'), 'must be an absolute path')),
      url: Type.Optional(checked(text, url => url.startsWith('https://'), 'must be an https URL')),
      sha256: Type.Optional(Type.String({ pattern: '^[a-f0-9]{64}$' })),
    }),
    ({ path, url, sha256 }) =>
      (path === undefined) === (url !== undefined) && (url === undefined) === (sha256 === undefined),
    'must have either path, or url and sha256',
  ),
  ({ slug, path, url = '', sha256 = '' }): { slug: string } & ({ path: string } | { url: string; sha256: string }) =>
    path === undefined ? { slug, url, sha256 } : { slug, path },
)

const transcriptionSchema = (source: SecretSource) =>
  Type.Decode(
    checked(
      closed({
        kind: Type.Enum(['offline', 'openai-compatible']),
        baseUrl: Type.Optional(webUrl),
        apiKey: Type.Optional(secret(source)),
        model: Type.Optional(text),
      }),
      ({ kind, baseUrl, apiKey, model }) =>
        kind === 'offline'
          ? [baseUrl, apiKey, model].every(member => member === undefined)
          : baseUrl !== undefined && model !== undefined,
      ({ kind }) => (kind === 'offline' ? 'is offline, so it has no other members' : 'must have baseUrl and model'),
    ),
    ({ kind, baseUrl = '', model = '', apiKey }) => (kind === 'offline' ? { kind } : { kind, baseUrl, model, apiKey }),
  )

const searchSchema = (source: SecretSource) =>
  checked(
    closed({
      kind: Type.Enum(['json', 'openai-compatible']),
      /** `{query}` in it stands for the query of a GET; without it the query is posted. */
      url: Type.Optional(checked(text, url => /^https?:$/.test(URL.parse(url)?.protocol ?? ''), 'must be an http URL')),
      /** The header of the key; by default `Authorization`, as a bearer. */
      keyHeader: Type.Optional(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$' })),
      baseUrl: Type.Optional(webUrl),
      model: Type.Optional(text),
      apiKey: Type.Optional(secret(source)),
    }),
    ({ kind, url, keyHeader, baseUrl, model }) =>
      kind === 'json'
        ? url !== undefined && baseUrl === undefined && model === undefined
        : url === undefined && keyHeader === undefined && baseUrl !== undefined && model !== undefined,
    ({ kind }) =>
      `must have ${kind === 'json' ? 'url, and no baseUrl or model' : 'baseUrl and model, and no url or keyHeader'}`,
  )

type FileConfig = StaticDecode<ReturnType<typeof configSchema>>

const configSchema = (source: SecretSource) =>
  closed({
    providers: distinct(providerSchema(source), { default: [] }),
    models: modelsSchema,
    runtimes: distinct(runtimeSchema(source), { default: [] }),
    gitHosts: Type.Array(gitHostSchema(source), { default: [] }),
    commits: commitsSchema(source),
    firstPartyClients: distinct(firstPartyClientSchema(source), { default: [] }),
    identityProviders: distinct(identityProviderSchema(source), { default: [] }),
    egress,
    /** Origins that webhooks reach besides public hosts, for development. */
    webhooks: closed({ allow: Type.Array(origin, { default: [] }) }, { default: {} }),
    /** Extensions beside the archives in the data directory. Several entries of one slug are its releases. */
    extensions: closed({ catalog: Type.Array(catalogSource, { default: [] }) }, { default: {} }),
    /** Absent: Berth transcribes nothing. */
    transcription: Type.Optional(transcriptionSchema(source)),
    /** Absent: agents do not search the web. */
    search: Type.Optional(searchSchema(source)),
  })

/**
 * Reads the text of the configuration file.
 * @throws StartError that names the file, the place and the problem
 */
export function parseConfig(json: string, file: string, source: SecretSource) {
  const { models, ...config } = readBySchema(configSchema(source), json, file) as Read<FileConfig>
  for (const [place, problem] of modelFaults(models, config.providers))
    throw problemAt(file, ['models', ...place], problem)
  const details = Object.entries(models.details).map(
    ([id, about]) => [id, { id: id.slice(id.indexOf('/') + 1), ...about }] as const,
  )
  return { ...config, models: { ...models, details: Object.fromEntries(details) } }
}
