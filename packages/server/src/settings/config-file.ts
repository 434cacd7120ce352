import { isAbsolute, normalize } from 'node:path'
import ipaddr from 'ipaddr.js'
import { isMaskable } from '../kit/redactor.ts'
import { type CommitsConfig, readCommits } from './commits.ts'
import { type FirstPartyClientConfig, readFirstPartyClient } from './first-party-clients.ts'
import { type IdentityProviderConfig, readIdentityProvider } from './identity-providers.ts'
import { JsonNode, parseJson } from './json-node.ts'
import { parseOrigin, parseWebUrl } from './web-url.ts'

/** US dollars per million tokens. */
export interface ModelPrice {
  readonly input: number
  readonly cachedInput: number
  readonly output: number
}

/** A model that a provider serves. */
export interface ModelConfig {
  readonly id: string
  readonly contextTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly tools: boolean
  readonly reasoning: boolean
  readonly modalities: readonly ('text' | 'image' | 'audio' | 'file')[]
  /** Absent: the cost of a Run that used the model is incomplete. */
  readonly price: ModelPrice | undefined
}

/** An upstream of the model gateway. */
export interface ProviderConfig {
  readonly id: string
  readonly kind: 'openai' | 'anthropic' | 'google' | 'openai-compatible'
  readonly baseUrl: string | undefined
  readonly apiKey: string | undefined
  /** Formats that the upstream speaks natively. */
  readonly wire: readonly ('chat' | 'responses' | 'messages' | 'generate')[]
  /** Absent: Berth asks the provider for its list. */
  readonly models: readonly ModelConfig[] | undefined
}

/** An ACP agent beside the built-in ones. */
export interface RuntimeConfig {
  readonly id: string
  readonly name: string
  /** Empty if the entry has a base. */
  readonly command: readonly string[]
  /** Id of the known agent that the entry is based on. */
  readonly base: string | undefined
  readonly env: Readonly<Record<string, string>>
  /**
   * Values of `env` that Berth masks in the output of the runtime's Sessions: references, and values whose names look
   * secret.
   */
  readonly secrets: readonly string[]
  /** Origins that the runtime's sandboxes reach in addition to the public hosts that the policy allows. */
  readonly reach: readonly string[]
  /** Paths below the agent's home that hold its conversations. */
  readonly state: readonly string[]
  /** Absolute directories that sandboxes see read-only at the same path. */
  readonly mounts: readonly string[]
}

/** A host of Git repositories. */
export interface GitHostConfig {
  readonly kind: 'github'
  readonly baseUrl: string | undefined
  readonly appId: string | undefined
  readonly privateKey: string | undefined
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
}

/** Limits on the public hosts that sandboxes reach. */
export interface EgressConfig {
  /** Host names; `*.name` covers all names below one. Absent: every public host. */
  readonly hosts: readonly string[] | undefined
  /** Address ranges that stay closed although they are public. */
  readonly refuse: readonly string[]
}

/** Where webhooks may be sent besides public hosts. */
export interface WebhookConfig {
  /** Origins that are let through as they are, for development. */
  readonly allow: readonly string[]
}

/** An archive of an extension that the catalog offers, as a file of every host or by its URL. */
export type CatalogSource = { readonly slug: string } & (
  | { readonly path: string }
  | { readonly url: string; readonly sha256: string }
)

/** The engine that transcribes recordings. */
export type TranscriptionConfig =
  | { readonly kind: 'offline' }
  | {
      readonly kind: 'openai-compatible'
      readonly baseUrl: string
      readonly apiKey: string | undefined
      readonly model: string
    }

/** The configuration file with every default filled in and every secret resolved. */
export interface Config {
  readonly providers: readonly ProviderConfig[]
  readonly models: {
    readonly default: string | undefined
    readonly aliases: Readonly<Record<string, string>>
    /** Models to try in order if a model fails before it answers. */
    readonly fallbacks: Readonly<Record<string, readonly string[]>>
    /** Facts about models, by catalog id, that the provider's own list does not give. */
    readonly details: Readonly<Record<string, ModelConfig>>
  }
  readonly runtimes: readonly RuntimeConfig[]
  readonly gitHosts: readonly GitHostConfig[]
  readonly commits: CommitsConfig
  readonly firstPartyClients: readonly FirstPartyClientConfig[]
  readonly identityProviders: readonly IdentityProviderConfig[]
  readonly egress: EgressConfig
  readonly webhooks: WebhookConfig
  /** Extensions beside the archives in the data directory. Several entries of one slug are its releases. */
  readonly extensions: { readonly catalog: readonly CatalogSource[] }
  /** Absent: Berth transcribes nothing. */
  readonly transcription: TranscriptionConfig | undefined
  /** Places of the secrets that the file itself holds, such as `providers[0].apiKey`. */
  readonly inlineSecrets: readonly string[]
}

const idPattern = /^[a-z0-9][a-z0-9._-]{0,63}$/
/** The pattern of runtime ids in the API's contract. */
const runtimeIdPattern = /^[a-z0-9][a-z0-9-]{0,63}$/
const catalogIdPattern = /^\S{1,265}$/
/**
 * Names of variables whose values are secret wherever they come from. Short values are settings, such as `MAX_TOKENS`.
 */
const secretName = /key|token|secret|passw|credential|auth(?!or)/i
const variablePattern = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
const builtInRuntimes = ['native', 'shell']
/** Agents that an entry can be based on; each has its own file in `runtimes/foreign`. */
const knownAgents = ['opencode', 'codex', 'claude-code', 'gemini', 'goose'] as const

/**
 * Reads the text of the configuration file.
 * @throws StartError that names the file, the place and the problem
 */
export function parseConfig(
  text: string,
  file: string,
  variables: Readonly<Record<string, string | undefined>>,
): Config {
  const inlineSecrets: string[] = []
  const root = new JsonNode(parseJson(text, file), { file, path: '', variables, inlineSecrets })
  const members = root.object(
    'providers',
    'models',
    'runtimes',
    'gitHosts',
    'commits',
    'firstPartyClients',
    'identityProviders',
    'egress',
    'webhooks',
    'extensions',
    'transcription',
  )
  const providers = members.providers?.array().map(readProvider) ?? []
  requireUnique(members.providers, providers)
  const identityProviders = members.identityProviders?.array().map(readIdentityProvider) ?? []
  requireUnique(members.identityProviders, identityProviders)
  const runtimes = members.runtimes?.array().map(readRuntime) ?? []
  requireUnique(members.runtimes, runtimes)
  const firstPartyClients = members.firstPartyClients?.array().map(readFirstPartyClient) ?? []
  requireUnique(members.firstPartyClients, firstPartyClients)
  return {
    providers,
    models: readModels(members.models, providers),
    runtimes,
    gitHosts: members.gitHosts?.array().map(readGitHost) ?? [],
    commits: readCommits(members.commits),
    firstPartyClients,
    identityProviders,
    egress: readEgress(members.egress),
    webhooks: { allow: members.webhooks?.object('allow').allow?.array().map(readOrigin) ?? [] },
    extensions: { catalog: members.extensions?.object('catalog').catalog?.array().map(readCatalogSource) ?? [] },
    transcription: members.transcription === undefined ? undefined : readTranscription(members.transcription),
    inlineSecrets,
  }
}

function readProvider(node: JsonNode): ProviderConfig {
  const members = node.object('id', 'kind', 'baseUrl', 'apiKey', 'wire', 'models')
  const kind = node.require(members.kind, 'kind').oneOf(['openai', 'anthropic', 'google', 'openai-compatible'])
  const models = members.models?.array().map(item => readModel(item))
  requireUnique(members.models, models ?? [])
  const provider = {
    id: node.require(members.id, 'id').string(idPattern),
    kind,
    baseUrl: members.baseUrl === undefined ? undefined : readUrl(members.baseUrl),
    apiKey: members.apiKey?.secret(),
    wire:
      members.wire?.array(1).map(item => item.oneOf(['chat', 'responses', 'messages', 'generate'])) ??
      defaultWires[kind],
    models,
  }
  if (kind === 'openai-compatible') node.require(members.baseUrl, 'baseUrl')
  return provider
}

const defaultWires: Readonly<Record<ProviderConfig['kind'], ProviderConfig['wire']>> = {
  openai: ['chat', 'responses'],
  anthropic: ['messages'],
  google: ['generate'],
  'openai-compatible': ['chat'],
}

const modelMembers = ['contextTokens', 'outputTokens', 'tools', 'reasoning', 'modalities', 'price'] as const

function readModel(node: JsonNode): ModelConfig {
  const members = node.object('id', ...modelMembers)
  return readDetails(members, node.require(members.id, 'id').string(/^\S{1,200}$/))
}

function readDetails(
  members: { readonly [name in (typeof modelMembers)[number]]?: JsonNode },
  id: string,
): ModelConfig {
  return {
    id,
    contextTokens: members.contextTokens?.integer(),
    outputTokens: members.outputTokens?.integer(),
    tools: members.tools?.boolean() ?? true,
    reasoning: members.reasoning?.boolean() ?? false,
    modalities: members.modalities?.array(1).map(item => item.oneOf(['text', 'image', 'audio', 'file'])) ?? ['text'],
    price: members.price === undefined ? undefined : readPrice(members.price),
  }
}

function readPrice(node: JsonNode): ModelPrice {
  const members = node.object('input', 'cachedInput', 'output')
  const input = node.require(members.input, 'input').number()
  return {
    input,
    cachedInput: members.cachedInput?.number() ?? input,
    output: node.require(members.output, 'output').number(),
  }
}

function readModels(node: JsonNode | undefined, providers: readonly ProviderConfig[]): Config['models'] {
  if (node === undefined) return { default: undefined, aliases: {}, fallbacks: {}, details: {} }
  const members = node.object('default', 'aliases', 'fallbacks', 'details')
  const aliases = new Map<string, string>()
  const served = (place: JsonNode, id: string): string =>
    isServed(id, providers) ? id : place.fail(`names the model ${id}, which no provider serves`)
  const known = (place: JsonNode, id: string): string => (aliases.has(id) ? id : served(place, id))
  for (const [alias, target] of members.aliases?.record(idPattern) ?? []) {
    aliases.set(alias, served(target, target.string()))
  }
  const fallbacks = members.fallbacks?.record(catalogIdPattern).map(([id, list]) => {
    known(list, id)
    const others = list.array(1).map(item => known(item, item.string()))
    if (others.includes(id)) list.fail(`names ${id} as its own fallback`)
    return [id, others] as const
  })
  const details = members.details?.record(catalogIdPattern).map(([id, about]) => {
    return [served(about, id), readDetails(about.object(...modelMembers), id.slice(id.indexOf('/') + 1))] as const
  })
  return {
    default: members.default === undefined ? undefined : known(members.default, members.default.string()),
    aliases: Object.fromEntries(aliases),
    fallbacks: Object.fromEntries(fallbacks ?? []),
    details: Object.fromEntries(details ?? []),
  }
}

/**
 * Returns true if a catalog id can be served. A provider without a list may serve any id: only its own list can tell.
 */
function isServed(id: string, providers: readonly ProviderConfig[]): boolean {
  const slash = id.indexOf('/')
  const provider = providers.find(candidate => candidate.id === id.slice(0, slash))
  if (provider === undefined) return false
  return provider.models === undefined || provider.models.some(model => model.id === id.slice(slash + 1))
}

function readRuntime(node: JsonNode): RuntimeConfig {
  const members = node.object('id', 'name', 'base', 'command', 'env', 'reach', 'mounts', 'state')
  const idNode = node.require(members.id, 'id')
  const id = idNode.string(runtimeIdPattern)
  if (builtInRuntimes.includes(id)) idNode.fail(`must not be ${id}, which is built in`)
  if (members.base !== undefined) members.command?.fail('is that of its base: leave one of the two out')
  const command =
    members.base === undefined
      ? node
          .require(members.command, 'command')
          .array(1)
          .map(item => item.string())
      : []
  const variables = members.env?.record(variablePattern).map(readVariable) ?? []
  return {
    id,
    name: members.name?.string() ?? id,
    command,
    base: members.base?.oneOf(knownAgents),
    env: Object.fromEntries(variables.map(({ name, value }) => [name, value])),
    secrets: variables.filter(({ isSecret }) => isSecret).map(({ value }) => value),
    reach: members.reach?.array().map(readOrigin) ?? [],
    mounts: members.mounts?.array().map(readMount) ?? [],
    state: members.state?.array().map(readStatePath) ?? [],
  }
}

function readVariable([name, node]: readonly [string, JsonNode]) {
  if (node.isReference) return { name, value: node.secret(), isSecret: true }
  const isSecret = secretName.test(name) && isMaskable(node.string())
  return { name, value: node.secret(isSecret), isSecret }
}

function readMount(node: JsonNode): string {
  const path = node.string()
  const clean = normalize(path).replace(/(?<=.)\/+$/, '')
  if (!isAbsolute(path) || clean === '/' || path.includes('\0')) node.fail('must be an absolute directory other than /')
  return clean
}

function readStatePath(node: JsonNode): string {
  const path = node.string()
  const clean = normalize(path).replace(/\/+$/, '')
  if (isAbsolute(path) || clean === '.' || clean.split('/').includes('..') || path.includes('\0')) {
    node.fail("must be a path below the agent's home, such as .gemini")
  }
  return clean
}

function readGitHost(node: JsonNode): GitHostConfig {
  const members = node.object('kind', 'baseUrl', 'appId', 'privateKey', 'clientId', 'clientSecret')
  return {
    kind: node.require(members.kind, 'kind').oneOf(['github']),
    baseUrl: members.baseUrl === undefined ? undefined : readUrl(members.baseUrl),
    appId: members.appId?.secret(false),
    privateKey: members.privateKey?.secret(),
    clientId: members.clientId?.secret(false),
    clientSecret: members.clientSecret?.secret(),
  }
}

/** At least one dot, and a last label that is not a number, or it would be an address. */
const hostPattern = /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+(?=.*[a-z])[a-z0-9-]{2,63}$/

function readEgress(node: JsonNode | undefined): EgressConfig {
  const members = node?.object('hosts', 'refuse')
  return {
    hosts: members?.hosts?.array(1).map(item => item.string(hostPattern)),
    refuse: members?.refuse?.array().map(readRange) ?? [],
  }
}

function readCatalogSource(node: JsonNode): CatalogSource {
  const members = node.object('slug', 'path', 'url', 'sha256')
  const slug = node.require(members.slug, 'slug').string(/^[a-z][a-z0-9-]{0,127}$/)
  if (members.path !== undefined) {
    for (const member of [members.url, members.sha256]) member?.fail('is not for an archive with a path')
    const path = members.path.string()
    if (!isAbsolute(path) || path.includes('\0')) members.path.fail('must be an absolute path')
    return { slug, path }
  }
  const url = node.require(members.url, 'path or url')
  if (!/^https:\/\//.test(url.string())) url.fail('must be an https URL')
  return { slug, url: url.string(), sha256: node.require(members.sha256, 'sha256').string(/^[a-f0-9]{64}$/) }
}

function readTranscription(node: JsonNode): TranscriptionConfig {
  const members = node.object('kind', 'baseUrl', 'apiKey', 'model')
  const kind = node.require(members.kind, 'kind').oneOf(['offline', 'openai-compatible'])
  if (kind === 'offline') {
    for (const member of [members.baseUrl, members.apiKey, members.model]) member?.fail('is not for an offline engine')
    return { kind }
  }
  return {
    kind,
    baseUrl: readUrl(node.require(members.baseUrl, 'baseUrl')),
    apiKey: members.apiKey?.secret(),
    model: node.require(members.model, 'model').string(),
  }
}

function readRange(node: JsonNode): string {
  const range = node.string()
  if (!ipaddr.isValidCIDR(range)) node.fail('must be a range of addresses, such as 198.51.100.0/24')
  return range
}

function readUrl(node: JsonNode): string {
  return parseWebUrl(node.string()) ?? node.fail('must be an http or https URL without user, query or fragment')
}

function readOrigin(node: JsonNode): string {
  return parseOrigin(node.string()) ?? node.fail('must be an http or https origin, such as http://127.0.0.1:9000')
}

function requireUnique(node: JsonNode | undefined, items: readonly { readonly id: string }[]): void {
  const ids = new Set<string>()
  for (const { id } of items) {
    if (ids.has(id)) node?.fail(`has two entries with the id ${id}`)
    ids.add(id)
  }
}
