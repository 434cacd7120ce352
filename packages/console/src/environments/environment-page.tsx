import { type Environment, ifRevision } from '@berth/client'
import { useMutation, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Archive, ArchiveRestore, ChevronLeft, Star } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { berth } from '../api/client.ts'
import { useNameOf } from '../api/people.ts'
import { queryClient } from '../api/queries.ts'
import { environmentTabs, to } from '../routing/to.ts'
import { Button } from '../ui/button.tsx'
import { Page, Title } from '../ui/page.tsx'
import { InlineProblem, LoadingLines } from '../ui/states.tsx'
import { Badge } from './badge.tsx'
import { DocumentTab } from './document-tab.tsx'
import { useEnvironmentCan } from './environment-can.ts'
import { LeaveGuard } from './leave-guard.tsx'
import { environmentQuery } from './queries.ts'
import { useDocumentEditor } from './use-document-editor.ts'

// The document comes first; the page has no room for the other tabs.
const HistoryTab = lazy(async () => ({ default: (await import('./history-tab.tsx')).HistoryTab }))
const Meanwhile = lazy(async () => ({ default: (await import('./meanwhile.tsx')).Meanwhile }))
const ProposedHosts = lazy(async () => ({ default: (await import('./proposed-hosts.tsx')).ProposedHosts }))
const SecretsTab = lazy(async () => ({ default: (await import('./secrets-tab.tsx')).SecretsTab }))
const TrialTab = lazy(async () => ({ default: (await import('./trial-tab.tsx')).TrialTab }))

const route = getRouteApi('/shell/environments/$environmentId')

const labels: Readonly<Record<(typeof environmentTabs)[number], string>> = {
  document: 'Document',
  secrets: 'Secrets',
  trial: 'Trial',
  history: 'History',
}

/** One environment: its document, secrets and revisions. */
export function EnvironmentPage() {
  const { environmentId } = route.useParams()
  const environment = useSuspenseQuery(environmentQuery(environmentId)).data
  return <EnvironmentView key={environment.id} environment={environment} />
}

function EnvironmentView({ environment }: { environment: Environment }) {
  const { tab = 'document' } = route.useSearch()
  const nameOf = useNameOf()
  const can = useEnvironmentCan(environment)
  const editor = useDocumentEditor(environment.id, environment)
  return (
    <Page
      title={environment.name}
      actions={<Actions environment={environment} />}
      below={
        <div className="flex w-full flex-wrap items-center gap-x-3 gap-y-1">
          <Link {...to.environments()} className="flex min-h-6 items-center text-xs text-ink-2 hover:text-ink">
            <ChevronLeft className="size-3.5" aria-hidden /> Environments
          </Link>
          {environment.isDefault && <Badge tone="accent">Default</Badge>}
          {environment.archivedAt !== null && <Badge tone="quiet">Archived</Badge>}
          <nav aria-label="Environment" className="flex w-full gap-1 overflow-x-auto lg:ml-auto lg:w-auto">
            {environmentTabs.map(name => (
              <Link
                key={name}
                {...to.environment(environment.id, name === 'document' ? {} : { tab: name })}
                activeOptions={{ exact: true }}
                aria-current={name === tab ? 'page' : undefined}
                className="flex h-8 items-center rounded-md px-2.5 text-[0.8125rem] whitespace-nowrap text-ink-2 hover:bg-hover aria-[current=page]:bg-selected aria-[current=page]:font-medium aria-[current=page]:text-ink"
              >
                {labels[name]}
                {name === 'document' && editor.dirty && <span className="ml-1 text-warning"> (edited)</span>}
              </Link>
            ))}
          </nav>
        </div>
      }
    >
      <Title>{environment.name}</Title>
      <LeaveGuard environmentId={environment.id} dirty={editor.dirty} onDiscard={editor.discard} />
      <Suspense>
        {editor.dirty && <Meanwhile environment={environment} editor={editor} by={nameOf(environment.createdBy)} />}
      </Suspense>
      {tab === 'document' && environment.proposedHosts.length > 0 && (
        <Suspense>
          <ProposedHosts
            environment={environment}
            maySave={editor.dirty ? { allowed: false, reason: 'Save or discard your edits first.' } : can('save')}
          />
        </Suspense>
      )}
      {tab === 'document' && (
        <DocumentTab
          id={environment.id}
          environment={environment}
          editor={editor}
          maySave={can('save')}
          mayUpload={can('upload')}
        />
      )}
      <Suspense fallback={<LoadingLines label={labels[tab].toLowerCase()} />}>
        {tab === 'secrets' && <SecretsTab environment={environment} />}
        {tab === 'trial' && <TrialTab environment={environment} dirty={editor.dirty} />}
        {tab === 'history' && <HistoryTab environment={environment} nameOf={nameOf} dirty={editor.dirty} />}
      </Suspense>
    </Page>
  )
}

/** Default and archive. Both write a revision. */
function Actions({ environment }: { environment: Environment }) {
  const { id, revision, isDefault, archivedAt } = environment
  const can = useEnvironmentCan(environment)
  const change = useMutation({
    mutationFn: (work: () => Promise<unknown>) => work(),
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: ['environments'] })
      return queryClient.invalidateQueries({ queryKey: environmentQuery(id).queryKey })
    },
  })
  return (
    <div className="flex flex-wrap items-center justify-end gap-2">
      <InlineProblem error={change.error} />
      {archivedAt === null && (
        <Button
          busy={change.isPending}
          verdict={can(isDefault ? 'clearDefault' : 'setDefault')}
          onClick={() =>
            change.mutate(() => berth.call('setDefaultEnvironment', { body: { id: isDefault ? null : id } }))
          }
        >
          <Star className="size-4" aria-hidden /> {isDefault ? 'No longer default' : 'Make default'}
        </Button>
      )}
      {archivedAt === null ? (
        <Button
          variant="quiet"
          busy={change.isPending}
          verdict={can('archive')}
          onClick={() =>
            change.mutate(() => berth.call('archiveEnvironment', { environmentId: id, headers: ifRevision(revision) }))
          }
        >
          <Archive className="size-4" aria-hidden /> Archive
        </Button>
      ) : (
        <Button
          busy={change.isPending}
          verdict={can('unarchive')}
          onClick={() =>
            change.mutate(() =>
              berth.call('unarchiveEnvironment', { environmentId: id, headers: ifRevision(revision) }),
            )
          }
        >
          <ArchiveRestore className="size-4" aria-hidden /> Unarchive
        </Button>
      )}
    </div>
  )
}
