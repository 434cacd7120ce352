import { BerthError } from '@berth/client'
import { problemOf } from '../../api/problem.ts'

type FieldName = 'message' | 'repository' | 'branch' | 'agent' | 'effort' | 'budget' | 'environment' | 'files'

/** Faults by field. */
export type Faults = Partial<Readonly<Record<FieldName, string>>> & {
  /** The connection to a Git host that is needed first. */
  readonly missesGit?: 'account' | 'connection'
}

const fieldByCode: ReadonlyMap<string, readonly [field: FieldName, text?: string]> = new Map(
  Object.entries({
    cloud_repository_grant_required: [
      'repository',
      'The organization may not use this repository any more. Pick another one.',
    ],
    cloud_github_connection_required: [
      'repository',
      'The Git host asks for an account of your own. What you have entered stays while you connect it.',
    ],
    cloud_repository_unavailable: ['repository', 'The Git host does not answer. Try again in a moment.'],
    cloud_repository_permission_denied: ['repository', 'The Git host does not let you read this repository.'],
    cloud_repository_branch_not_found: ['branch', 'There is no such branch any more. Pick another one.'],
    environment_not_found: ['environment', 'This environment is gone. Pick another one.'],
    environment_forbidden: ['environment', 'You may not use this environment.'],
    environment_conflict: ['environment', 'This environment is archived. Pick another one.'],
    cloud_agent_catalog_unavailable: [
      'agent',
      'This agent or model is not available now. Pick another one, or try again.',
    ],
    request_entity_too_large: ['files', 'Message and files are larger than the service takes. Remove a file.'],
  }),
)

const fieldByMember: ReadonlyMap<string, FieldName> = new Map(
  Object.entries({
    source: 'repository',
    baseBranch: 'branch',
    model: 'agent',
    runtime: 'agent',
    effort: 'effort',
    budget: 'budget',
    environment: 'environment',
    files: 'files',
    message: 'message',
  }),
)

/** Returns a refusal at the field that it is about; null if it is about none. */
export function faultsOf(error: unknown): Faults | null {
  if (!(error instanceof BerthError)) return null
  const known = fieldByCode.get(error.code ?? '')
  if (known !== undefined) {
    const { advice, missesGit } = problemOf(error)
    return { [known[0]]: known[1] ?? advice, ...(missesGit !== undefined && { missesGit }) }
  }
  const { issues } = error.fields
  if (!Array.isArray(issues)) return null
  const faults: { [name in FieldName]?: string } = {}
  for (const { path, message } of issues as readonly { path?: unknown; message?: unknown }[]) {
    const members = Array.isArray(path) ? path.map(String) : []
    const field = members.map(member => fieldByMember.get(member)).findLast(known => known !== undefined)
    if (field !== undefined) faults[field] ??= String(message)
  }
  return Object.keys(faults).length === 0 ? null : faults
}
