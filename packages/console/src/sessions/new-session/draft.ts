import type { Effort, Repository, Runtime } from '@berth/contract'
import { useState } from 'react'
import { currentOrganization } from '../../api/organization.ts'

export type PickedRepository = Pick<
  Repository,
  'grantId' | 'repositoryId' | 'fullName' | 'provider' | 'private' | 'defaultBranch'
>

/** A person's input for a new Session. */
export interface Draft {
  readonly message: string
  readonly repository: PickedRepository | null
  /** Null for the repository's default. */
  readonly branch: string | null
  /** Empty for the native one, or the first that is available. */
  readonly runtime: string
  /** Empty for the runtime's default. */
  readonly model: string
  /** Empty for the model's default. */
  readonly effort: Effort | ''
  /** Id of an environment, `none`, or empty for the organization's default. */
  readonly environment: string
  /** Kept as long as nothing changes: sending it again after a lost answer must not start a second Session. */
  readonly sessionId: string
  readonly turnId: string
}

const keyOf = () => `berth.new-session.${currentOrganization()}`
const ids = () => ({ sessionId: crypto.randomUUID(), turnId: crypto.randomUUID() })

function read(): Draft {
  const empty: Draft = {
    message: '',
    repository: null,
    branch: null,
    runtime: '',
    model: '',
    effort: '',
    environment: '',
    ...ids(),
  }
  try {
    return { ...empty, ...(JSON.parse(sessionStorage.getItem(keyOf()) ?? '{}') as Partial<Draft>) }
  } catch {
    return empty
  }
}

/** Keeps the input in this tab, also over a reload. */
export function useDraft() {
  const [draft, setDraft] = useState(read)
  return {
    draft,
    change(part: Partial<Draft>): void {
      setDraft(before => {
        const after = { ...before, ...part, ...ids() }
        try {
          sessionStorage.setItem(keyOf(), JSON.stringify(after))
        } catch {
          // Storage is full or blocked; the page itself still has it.
        }
        return after
      })
    },
    forget: () => sessionStorage.removeItem(keyOf()),
  }
}

/** Returns the runtime that a draft starts with. */
export function runtimeOf({ runtime }: Draft, runtimes: readonly Runtime[]): string {
  if (runtime !== '') return runtime
  const available = runtimes.filter(known => known.available)
  return (available.find(({ id }) => id === 'native') ?? available[0])?.id ?? 'native'
}
