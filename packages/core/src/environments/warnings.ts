import type { EnvironmentWarning } from '@berth/contract'
import type { StoredDocument } from './document.ts'
import { egressProposal, type NetworkFacts, networkWarnings, warning } from './network-warnings.ts'
import type { StoredPin } from './secret-exposure.ts'

/** A script of this length that goes on after a failed command hides what went wrong. */
const LONG_SETUP_LINES = 20

const credentialName =
  /(?:^|_)(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)/i
/** Forms in which well-known services give out credentials, and private keys in PEM. */
const credentialValue =
  /^(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|xox[a-z]-[\w-]{10,}|AKIA[A-Z0-9]{16}|npm_\w{16,}|svc_\w{16,})|-----BEGIN [A-Z ]*PRIVATE KEY-----|^\w+:\/\/[^/\s:@]*:[^/\s@]+@/
const stopsOnFailure = /^\s*set\s+(?:-\S+\s+)*(?:-[a-zA-Z]*e|-[a-zA-Z]*o\s+errexit)/m
/** Variables that agents read themselves. */
const ofRuntimes = /^(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE|CLAUDE|CODEX|OPENCODE|GOOSE)_/

/** A secret that a revision pins. */
export interface JudgedPin extends StoredPin {
  /** Whether its value is long enough to be masked in output. */
  readonly masked: boolean
}

/** The parts of the deployment and the organization that warnings depend on. */
export interface WarningFacts extends NetworkFacts {
  /** Returns whether a grant of the organization covers a repository. */
  readonly isGranted: (repository: string) => boolean
  /** References to archives of which no runtime gets anything. */
  readonly idle: ReadonlySet<string>
  /** Why a host at work installs no system packages; null if all do. */
  readonly packagesFault: string | null
  /** By slug of the catalog, a release that needs a newer platform. */
  readonly newer: ReadonlyMap<string, string>
}

/** Returns what a document allows but its author probably did not mean. A warning is never a reason to refuse it. */
export function warningsOf(
  document: StoredDocument,
  secrets: readonly JudgedPin[],
  facts: WarningFacts,
): EnvironmentWarning[] {
  const { setup, variables, repositories, extensions } = document
  const named = [
    ...Object.keys(variables).map(name => ({ name, path: ['document', 'variables', name] })),
    ...secrets.map(({ name }) => ({ name, path: ['secrets', name] })),
  ]
  return [
    ...Object.entries(variables)
      .filter(([name, value]) => value !== '' && (credentialName.test(name) || credentialValue.test(value)))
      .map(([name]) =>
        warning(['document', 'variables', name], `looks like a credential: write it as a secret, ${betterThan(name)}`),
      ),
    ...named.flatMap(({ name, path }) => runtimeWarning(name, path, facts)),
    ...networkWarnings(document, secrets, facts),
    ...secrets
      .filter(({ masked }) => !masked)
      .map(({ name }) => warning(['secrets', name], 'has fewer than 8 characters, so no output masks it')),
    ...(/\r\n/.test(setup)
      ? [warning(['document', 'setup'], 'has lines that end in CRLF, which bash takes literally')]
      : []),
    ...(lineCount(setup) > LONG_SETUP_LINES && !stopsOnFailure.test(setup)
      ? [warning(['document', 'setup'], 'goes on after a command that fails: begin it with `set -e`')]
      : []),
    ...extensions.flatMap(({ archive }, index) =>
      archive !== undefined && facts.idle.has(archive)
        ? [warning(['document', 'extensions', index], 'holds no skill, no command and no server for any runtime')]
        : [],
    ),
    ...extensions.flatMap(({ catalog }, index) => {
      const version = catalog === undefined ? undefined : facts.newer.get(catalog)
      if (version === undefined) return []
      return [warning(['document', 'extensions', index], `has release ${version}, which needs a newer platform`)]
    }),
    ...(document.packages.length > 0 && facts.packagesFault !== null
      ? [warning(['document', 'packages'], `are not installed by a host at work: ${facts.packagesFault}`)]
      : []),
    ...repositories.flatMap(({ repository }, index) =>
      facts.isGranted(repository)
        ? []
        : [
            warning(
              ['document', 'repositories', index],
              `is covered by no grant: ${repository} is cloned without a token`,
            ),
          ],
    ),
  ]
}

function runtimeWarning(name: string, path: readonly string[], { runtimeVariables }: WarningFacts) {
  const runtime = runtimeVariables.get(name)
  if (runtime !== undefined)
    return [warning(path, `is set by the runtime ${runtime} itself, whose value its agent gets`)]
  return ofRuntimes.test(name) ? [warning(path, 'is a variable that a runtime may read or set itself')] : []
}

function betterThan(name: string): string {
  const proposal = egressProposal(name)
  return proposal === '' ? 'which is masked' : `${proposal}, so that no program has it`
}

const lineCount = (text: string): number => text.replace(/\n+$/, '').split('\n').length
