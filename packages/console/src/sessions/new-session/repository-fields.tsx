import type { MissingAccount, Repository, RepositoryPage } from '@berth/contract'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { BookMarked, GitBranch, Lock } from 'lucide-react'
import { useEffect, useState } from 'react'
import { call } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import { Field } from '../../ui/field.tsx'
import { PickBox } from '../../ui/pick-box.tsx'
import { GitLink } from '../../ui/states.tsx'
import { SampleButton } from '../demonstration.tsx'
import type { Draft, PickedRepository } from './draft.ts'
import type { Faults } from './faults.ts'

/** A page may be short while there are more; after so many the person types instead. */
const mostPages = 4
const enough = 30

async function readRepositories(q: string, signal: AbortSignal) {
  const found: Repository[] = []
  const missing: MissingAccount[] = []
  let cursor: string | null = null
  for (let at = 0; at < mostPages && found.length < enough; at++) {
    const query: URLSearchParams = new URLSearchParams({ ...(q && { q }), ...(cursor && { cursor }) })
    const page = await call<RepositoryPage>('GET', `repositories?${query}`, undefined, signal)
    found.push(...page.repositories)
    missing.push(...(page.missing ?? []).filter(({ retried }) => !retried))
    if (!page.hasMore) return { found, missing, more: false }
    cursor = page.nextCursor
  }
  return { found, missing, more: true }
}

function missingNote(missing: readonly MissingAccount[]): string {
  const accounts = missing.map(({ provider, accountLogin, reason }) => {
    const host = provider === accountLogin ? provider : `${provider} (${accountLogin})`
    return reason === 'refused' ? `${host} no longer lets Berth in` : `${host} did not answer in time`
  })
  return `Repositories are missing: ${accounts.join(', ')}. Search again in a moment.`
}

interface Answer {
  readonly isPending: boolean
  readonly isFetching: boolean
  readonly error: unknown
}

/** Returns the state of the search, for below the items; null if the items show it all. */
function noteOf(
  { isPending, isFetching, error }: Answer,
  count: number,
  more: boolean,
  none: string,
  missing: readonly MissingAccount[] = [],
): string | null {
  if (error !== null) return `${problemOf(error).title}. ${problemOf(error).advice}`
  if (isPending || isFetching) return 'Searching…'
  if (missing.length > 0) return missingNote(missing)
  if (count === 0) return none
  return more ? 'There are more. Type to find them.' : null
}

/** The repository that the agent works on, and its branch. */
export function RepositoryFields(props: { draft: Draft; change: (part: Partial<Draft>) => void; faults: Faults }) {
  const { draft, change, faults } = props
  const [q, setQ] = useState('')
  const answer = useQuery({
    queryKey: ['repositories', q],
    queryFn: ({ signal }) => readRepositories(q, signal),
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  })
  const found: readonly PickedRepository[] = answer.data?.found ?? []
  const { linked, branch } = draft
  const search = useQuery({
    queryKey: ['repositories', linked],
    queryFn: ({ signal }) => readRepositories(linked ?? '', signal),
    enabled: linked !== null,
  })
  const target = search.data?.found.find(({ fullName }) => fullName.toLowerCase() === linked?.toLowerCase())
  useEffect(() => {
    if (linked !== null && target !== undefined) change({ repository: pickedOf(target), branch, linked: null })
  })
  const hasNone = draft.repository === null && q === '' && answer.data?.found.length === 0 && !answer.data.more
  const none =
    q === ''
      ? 'No repository is connected. An administrator connects a Git host to the organization.'
      : `No repository is called ${q}.`
  return (
    <div className="grid gap-5 sm:grid-cols-2">
      <Field
        label="Repository"
        hint={draft.repository === null && 'Without one, the agent begins in an empty directory.'}
        fault={
          linked !== null && !search.isPending ? (
            <>
              The link names {linked}, which is not among the repositories that you can use.{' '}
              <button type="button" className="underline" onClick={() => change({ linked: null, branch: null })}>
                Work without it
              </button>
            </>
          ) : (
            faults.repository && (
              <>
                {faults.repository}
                {faults.missesGit !== undefined && <GitLink to={faults.missesGit} />}
              </>
            )
          )
        }
      >
        {attributes => (
          <PickBox
            attributes={attributes}
            items={found}
            value={draft.repository}
            keyOf={({ grantId, repositoryId }) => `${grantId} ${repositoryId}`}
            labelOf={({ fullName }) => fullName}
            placeholder="None"
            clearLabel="Work without a repository"
            note={noteOf(answer, found.length, answer.data?.more === true, none, answer.data?.missing)}
            icon={({ private: hidden }) =>
              hidden ? (
                <Lock className="size-3.5 shrink-0 text-ink-3" aria-label="Private" />
              ) : (
                <BookMarked className="size-3.5 shrink-0 text-ink-3" aria-hidden />
              )
            }
            onSearch={setQ}
            onChange={repository => change({ ...fresh, repository: repository && pickedOf(repository) })}
          />
        )}
      </Field>
      {hasNone && (
        <div className="sm:self-center">
          <SampleButton
            label="Make a sample repository"
            onMade={made => change({ ...fresh, repository: pickedOf(made) })}
          />
        </div>
      )}
      {draft.repository !== null && (
        <BranchField key={draft.repository.repositoryId} repository={draft.repository} {...props} />
      )}
    </div>
  )
}

/** Another repository has other branches. */
const fresh = { branch: null, linked: null } as const

const pickedOf = ({ grantId, repositoryId, fullName, provider, private: hidden, defaultBranch }: PickedRepository) => ({
  grantId,
  repositoryId,
  fullName,
  provider,
  private: hidden,
  defaultBranch,
})

function BranchField(props: {
  draft: Draft
  repository: PickedRepository
  change: (part: Partial<Draft>) => void
  faults: Faults
}) {
  const { draft, repository, change, faults } = props
  const { grantId, repositoryId, defaultBranch } = repository
  const [q, setQ] = useState('')
  const answer = useQuery({
    queryKey: ['repositories', grantId, repositoryId, 'branches', q],
    queryFn: ({ signal }) =>
      call<{ branches: readonly string[]; hasMore: boolean }>(
        'GET',
        `repositories/${grantId}/${repositoryId}/branches?${new URLSearchParams(q && { q })}`,
        undefined,
        signal,
      ),
    staleTime: 30_000,
    placeholderData: keepPreviousData,
  })
  const branches = answer.data?.branches ?? []
  return (
    <Field label="Branch to begin from" hint="The agent works on a copy of it." fault={faults.branch}>
      {attributes => (
        <PickBox
          attributes={attributes}
          items={branches}
          value={draft.branch}
          keyOf={branch => branch}
          labelOf={branch => branch}
          placeholder={defaultBranch === null ? 'Default branch' : `${defaultBranch} (default)`}
          clearLabel="Begin from the default branch"
          note={noteOf(answer, branches.length, answer.data?.hasMore === true, `No branch begins with ${q}.`)}
          icon={() => <GitBranch className="size-3.5 shrink-0 text-ink-3" aria-hidden />}
          onSearch={setQ}
          onChange={branch => change({ branch })}
        />
      )}
    </Field>
  )
}
