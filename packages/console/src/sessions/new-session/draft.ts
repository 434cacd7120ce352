import type { Effort, Repository, Runtime } from '@berth/contract'
import { useState } from 'react'
import { currentOrganization } from '../../api/organization.ts'
import type { NewSessionSearch } from '../../routing/to.ts'

export type PickedRepository = Pick<
  Repository,
  'grantId' | 'repositoryId' | 'fullName' | 'provider' | 'private' | 'defaultBranch'
>

/** A person's input for a new Session. */
export interface Draft {
  readonly message: string
  readonly repository: PickedRepository | null
  /** Full name of a repository that a link named and that is still to be found; null if there is none. */
  readonly linked: string | null
  /** Null for the repository's default. */
  readonly branch: string | null
  /** Empty for the native one; while no model is configured, for the demonstration: the shell would run prose. */
  readonly runtime: string
  /** Empty for the runtime's default. */
  readonly model: string
  /** Empty for the model's default. */
  readonly effort: Effort | ''
  /** US dollars that it may spend on models; empty for no bound. */
  readonly budget: string
  /** The agent proposes a plan first; only the native one can. */
  readonly plan: boolean
  /** Id of an environment, `none`, or empty for the organization's default. */
  readonly environment: string
  /** Kept as long as nothing changes: sending it again after a lost answer must not start a second Session. */
  readonly sessionId: string
  readonly turnId: string
}

const keyOf = () => `berth.new-session.${currentOrganization()}`
const lastKey = () => `berth.last-repository.${currentOrganization()}`
const ids = () => ({ sessionId: crypto.randomUUID(), turnId: crypto.randomUUID() })

function stored<T>(storage: () => Storage, key: string): T | null {
  try {
    return JSON.parse(storage().getItem(key) ?? 'null') as T | null
  } catch {
    // Storage is blocked, or somebody else wrote there.
    return null
  }
}

/** Remembers the likely repository and runtime of the next Session in this browser. */
export function rememberRepository(repository: PickedRepository | null): void {
  try {
    localStorage.setItem(lastKey(), JSON.stringify(repository))
  } catch {
    // Storage is full or blocked: the next Session begins without one.
  }
}

/** Returns the input of a link, which wins over the draft of this tab; a repository has its branch from the link too. */
function read({ q, repo, branch, agent, model, mode }: NewSessionSearch): Draft {
  const empty: Draft = {
    message: '',
    repository: stored<PickedRepository>(() => localStorage, lastKey()),
    linked: null,
    branch: null,
    runtime: '',
    model: '',
    effort: '',
    budget: '',
    plan: false,
    environment: '',
    ...ids(),
  }
  return {
    ...empty,
    ...stored<Partial<Draft>>(() => sessionStorage, keyOf()),
    ...(q !== undefined && { message: q }),
    ...(repo !== undefined && { repository: null, linked: repo }),
    ...((repo ?? branch) !== undefined && { branch: branch ?? null }),
    ...((agent ?? model) !== undefined && { runtime: agent ?? '', model: model ?? '' }),
    ...(mode === 'plan' && { plan: true }),
  }
}

function store(draft: Draft): Draft {
  try {
    sessionStorage.setItem(keyOf(), JSON.stringify(draft))
  } catch {
    // Storage is full or blocked; the page itself still has it.
  }
  return draft
}

/** Keeps the input in this tab, also over a reload. It begins with the values of a link. */
export function useDraft(link: NewSessionSearch) {
  const [draft, setDraft] = useState(() => store(read(link)))
  return {
    draft,
    change(part: Partial<Draft>): void {
      setDraft(before => store({ ...before, ...part, ...ids() }))
    },
    forget: () => sessionStorage.removeItem(keyOf()),
  }
}

/** Returns the runtime that a draft starts with. */
export function runtimeOf({ runtime }: Draft, runtimes: readonly Runtime[]): string {
  if (runtime !== '') return runtime
  const available = runtimes.filter(known => known.available)
  const usual = ['native', 'demo'].find(id => available.some(known => known.id === id))
  return usual ?? available[0]?.id ?? 'native'
}
