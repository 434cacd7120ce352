import { type Environment, type EnvironmentRevision, ifRevision } from '@berth/client'
import { changedMembers, plain } from '@berth/client/documents'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { History } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { Button } from '../ui/button.tsx'
import { useMinute } from '../ui/clock.ts'
import { Select } from '../ui/field.tsx'
import { ago } from '../ui/format.ts'
import { ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { memberLabel, memberText } from './document-labels.ts'
import { useEnvironmentCan } from './environment-can.ts'
import { environmentQuery, revisionsQuery } from './queries.ts'

const LineDiff = lazy(() => import('../transcript/line-diff.tsx'))

interface Props {
  readonly environment: Environment
  /** Returns an author's name. */
  readonly nameOf: (author: EnvironmentRevision['createdBy']) => string
  readonly dirty: boolean
}

/** The revisions with their authors and times, the difference between any two, and the way back to an earlier one. */
export function HistoryTab({ environment, nameOf, dirty }: Props) {
  const list = useInfiniteQuery(revisionsQuery(environment.id))
  const now = useMinute()
  const [pair, setPair] = useState<{ readonly from?: number; readonly to?: number }>({})
  if (list.isPending) return <LoadingLines label="the revisions" />
  if (list.isError) return <ErrorState error={list.error} retry={() => void list.refetch()} />
  const revisions = list.data.pages.flatMap(page => page.revisions)
  const find = (number: number | undefined) => revisions.find(({ revision }) => revision === number)
  const to = find(pair.to) ?? revisions[0]
  const from = find(pair.from) ?? revisions.find(({ revision }) => revision < (to?.revision ?? 0)) ?? to
  return (
    <div className="grid gap-6 lg:grid-cols-[20rem_minmax(0,1fr)]">
      <section aria-label="Revisions" className="flex flex-col gap-2">
        <ol className="flex flex-col divide-y divide-line rounded-md border border-line">
          {revisions.map((revision, at) => {
            const before = revisions[at + 1]
            return (
              <li key={revision.revision} className={revision === to ? 'bg-selected' : ''}>
                <button
                  type="button"
                  aria-pressed={revision === to}
                  onClick={() => setPair({ to: revision.revision })}
                  className="flex w-full flex-col gap-0.5 px-3 py-2 text-left -outline-offset-2 hover:bg-hover"
                >
                  <span className="flex items-baseline gap-2 text-[0.8125rem]">
                    <span className="font-medium">Revision {revision.revision}</span>
                    <time
                      dateTime={revision.createdAt}
                      title={new Date(revision.createdAt).toLocaleString('en')}
                      className="ml-auto text-xs text-ink-2"
                    >
                      {ago(Date.parse(revision.createdAt), now)}
                    </time>
                  </span>
                  <span className="text-xs text-ink-2">{nameOf(revision.createdBy)}</span>
                  <span className="text-xs text-ink-2">{summaryOf(revision, before, list.hasNextPage)}</span>
                </button>
              </li>
            )
          })}
        </ol>
        {list.hasNextPage && (
          <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Older revisions
          </Button>
        )}
      </section>
      {to !== undefined && from !== undefined && (
        <section aria-labelledby="compare" className="flex min-w-0 flex-col gap-3">
          <div className="flex flex-wrap items-center gap-2">
            <h2 id="compare" className="text-sm font-semibold">
              Compare
            </h2>
            <Choice
              label="From revision"
              revisions={revisions}
              value={from.revision}
              onChoose={number => setPair({ to: to.revision, from: number })}
            />
            <span className="text-xs text-ink-3">with</span>
            <Choice
              label="To revision"
              revisions={revisions}
              value={to.revision}
              onChoose={number => setPair({ from: from.revision, to: number })}
            />
            {to.revision !== environment.revision && (
              <Restore key={to.revision} environment={environment} revision={to.revision} dirty={dirty} />
            )}
          </div>
          <Comparison from={from} to={to} />
        </section>
      )}
    </div>
  )
}

function Choice(props: {
  label: string
  revisions: readonly EnvironmentRevision[]
  value: number
  onChoose: (revision: number) => void
}) {
  return (
    <Select
      aria-label={props.label}
      className="max-w-20"
      value={props.value}
      onChange={event => props.onChoose(Number(event.target.value))}
    >
      {props.revisions.map(({ revision }) => (
        <option key={revision}>{revision}</option>
      ))}
    </Select>
  )
}

/** The differences between two revisions, secrets by their versions. */
function Comparison({ from, to }: { from: EnvironmentRevision; to: EnvironmentRevision }) {
  const [before, after] = [plain(from.document), plain(to.document)]
  const changed = changedMembers(before, after)
  const secrets = [from, to].map(({ secrets: pins }) =>
    pins.map(({ name, version }) => `${name}, version ${version}`).join('\n'),
  )
  const text = (document: typeof before, member: string) =>
    memberText((document as unknown as Record<string, unknown>)[member])
  if (changed.length === 0 && secrets[0] === secrets[1]) {
    return <p className="text-[0.8125rem] text-ink-2">The documents and the secrets are the same.</p>
  }
  return (
    <Suspense fallback={<LoadingLines label="the comparison" />}>
      {changed.map(member => (
        <LineDiff
          key={member}
          file={{ path: memberLabel(member), oldText: text(before, member), newText: text(after, member) }}
        />
      ))}
      {secrets[0] !== secrets[1] && (
        <LineDiff file={{ path: 'Secrets', oldText: secrets[0] ?? '', newText: secrets[1] ?? '' }} />
      )}
    </Suspense>
  )
}

function Restore({ environment, revision, dirty }: { environment: Environment; revision: number; dirty: boolean }) {
  const can = useEnvironmentCan(environment)
  const restore = useMutation({
    mutationFn: async () =>
      (
        await berth.call('restoreEnvironmentRevision', {
          environmentId: environment.id,
          revision: String(revision),
          headers: ifRevision(environment.revision),
        })
      ).environment,
    onSuccess: restored => {
      queryClient.setQueryData(environmentQuery(environment.id).queryKey, restored)
      void queryClient.invalidateQueries({ queryKey: ['environment', environment.id, 'revisions'] })
      void queryClient.invalidateQueries({ queryKey: ['environments'] })
    },
  })
  const verdict = dirty
    ? ({ allowed: false, reason: 'You have unsaved edits. Save or discard them first.' } as const)
    : can('restore')
  return (
    <>
      <Button className="ml-auto" busy={restore.isPending} verdict={verdict} onClick={() => restore.mutate()}>
        <History className="size-4" aria-hidden /> Restore revision {revision}
      </Button>
      <div className="w-full empty:hidden">
        <InlineProblem error={restore.error} />
      </div>
    </>
  )
}

function summaryOf(revision: EnvironmentRevision, before: EnvironmentRevision | undefined, more: boolean): string {
  if (before === undefined) return more ? '' : 'Created'
  const changed = changedMembers(plain(before.document), plain(revision.document)).map(memberLabel)
  const pins = ({ secrets }: EnvironmentRevision) => JSON.stringify(secrets)
  if (pins(before) !== pins(revision)) changed.push('Secrets')
  return changed.length === 0 ? 'Archive or default' : changed.join(', ')
}
