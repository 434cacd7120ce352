import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useRouteContext, useRouter } from '@tanstack/react-router'
import { BookOpen, Search } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useId, useRef, useState } from 'react'
import { sectionGroupsOf } from '../organization/sections.ts'
import { to } from '../routing/to.ts'
import { groupList, type ListedSession } from '../sessions/list-data.ts'
import { sessionListQuery } from '../sessions/queries.ts'
import { settingsSections } from '../settings/sections.ts'
import { chooseTheme } from '../theme/theme.ts'
import { Overlay } from '../ui/overlay.tsx'
import { printableLine } from '../ui/printable.ts'
import { StatusDot } from '../ui/status-dot.tsx'
import { showOverlay } from './overlay.ts'

interface Choice {
  readonly id: string
  readonly label: string
  /** Found by this too, although it is not shown. */
  readonly also?: string
  readonly mark?: ReactNode
  readonly run: () => void
}

/** The service is asked after a pause; local items are found at once. */
const pauseMs = 200

/** Returns the Sessions at hand, and those that the service finds for the text. */
function useFoundSessions(text: string, me: string): readonly ListedSession[] {
  const [all, found] = [
    useInfiniteQuery(sessionListQuery({})),
    useInfiniteQuery(sessionListQuery(text === '' ? {} : { q: text, everyone: true })),
  ]
  const listed = [all, found].flatMap(({ data }) => (data === undefined ? [] : groupList(data, { everyone: true }, me)))
  return [...new Map(listed.flatMap(({ sessions }) => sessions).map(entry => [entry.session.id, entry])).values()]
}

const open = (path: string) => void window.open(path, '_blank', 'noopener')

/** Returns the hits in the documentation; none if it is not built. */
function useFoundDocs(text: string): readonly Choice[] {
  const found = useQuery({
    queryKey: ['docs', text],
    // Two letters are in every page.
    enabled: text.length > 2,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await import('./docs-search.ts')).findInDocs(text),
  }).data
  return (found ?? []).map(({ heading, page, place }) => ({
    id: `docs-${place}`,
    label: heading === page ? page : `${page}: ${heading}`,
    mark: <BookOpen className="size-3.5 shrink-0 text-ink-3" aria-label="Documentation" />,
    run: () => open(`/docs/${place}`),
  }))
}

/** Finds a Session, a page or a place in the documentation by typing. @param props `typed` is what it begins with */
export function Palette({ typed }: { typed: RefObject<string> }) {
  const router = useRouter()
  const { viewer } = useRouteContext({ from: '/shell' })
  const listId = useId()
  const [text, setText] = useState(() => typed.current)
  // The next time it opens it begins empty.
  useEffect(() => {
    typed.current = ''
  }, [typed])
  const [at, setAt] = useState(0)
  const [searched, setSearched] = useState(() => typed.current.trim())
  const pause = useRef<ReturnType<typeof setTimeout>>(undefined)
  const sessions = useFoundSessions(searched, viewer.user.id)
  const docs = useFoundDocs(searched)
  const choices: readonly Choice[] = [
    { id: 'new', label: 'New Session', run: () => void router.navigate(to.newSession()) },
    { id: 'list', label: 'All Sessions', run: () => void router.navigate(to.sessions()) },
    ...sessions.map(({ session, state }) => ({
      id: session.id,
      label: printableLine(session.title),
      also: [session.source?.label, session.source?.baseBranch, session.id].join(' '),
      mark: <StatusDot status={state.status} />,
      run: () => void router.navigate(to.session(session.id)),
    })),
    { id: 'pulls', label: 'Pull requests', run: () => void router.navigate(to.pullRequests()) },
    { id: 'environments', label: 'Environments', run: () => void router.navigate(to.environments()) },
    ...sectionGroupsOf(viewer.features).flatMap(({ sections }) =>
      sections.map(section => ({
        id: `organization-${section.id}`,
        label: `Organization: ${section.label}`,
        also: section.also,
        run: () => void router.navigate(section.to),
      })),
    ),
    ...settingsSections.map(section => ({
      id: section.id,
      label: `Settings: ${section.label}`,
      also: section.also,
      run: () => void router.navigate(section.to),
    })),
    { id: 'light', label: 'Light theme', run: () => chooseTheme('light') },
    { id: 'dark', label: 'Dark theme', run: () => chooseTheme('dark') },
    { id: 'keys', label: 'Keyboard shortcuts', run: () => showOverlay('shortcuts') },
    { id: 'docs', label: 'Documentation', also: 'help manual guide', run: () => open('/docs/') },
    { id: 'api', label: 'API reference', also: 'help openapi rest', run: () => open('/v1/docs') },
  ]
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const isMeant = ({ label, also = '' }: Choice) => words.every(word => `${label} ${also}`.toLowerCase().includes(word))
  const found = [
    ...(words.length === 0 ? choices : choices.filter(isMeant)).slice(0, 50),
    ...(words.length === 0 ? [] : docs),
  ]
  const chosen = Math.min(at, found.length - 1)

  const run = (choice: Choice | undefined) => {
    if (choice === undefined) return
    showOverlay(null)
    choice.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      const next = (chosen + step + found.length) % Math.max(1, found.length)
      setAt(next)
      document.getElementById(`${listId}-${next}`)?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault()
      run(found[chosen])
    }
  }
  return (
    <Overlay title="Search" hideTitle onClose={() => showOverlay(null)}>
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Search className="size-4 text-ink-3" aria-hidden />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={found.length > 0 ? `${listId}-${chosen}` : undefined}
          aria-label="Search Sessions, pages and documentation"
          placeholder="Search Sessions, pages and documentation"
          // biome-ignore lint/a11y/noAutofocus: the person opened this to type
          autoFocus
          value={text}
          onChange={event => {
            const next = event.target.value
            setText(next)
            setAt(0)
            clearTimeout(pause.current)
            pause.current = setTimeout(() => setSearched(next.trim()), pauseMs)
          }}
          onKeyDown={onKeyDown}
          className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none"
        />
      </div>
      <div id={listId} role="listbox" aria-label="Found" className="overflow-y-auto p-1.5">
        {found.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above takes the keys
          <div
            key={choice.id}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => run(choice)}
            onPointerMove={() => setAt(index)}
            className="flex min-h-9 items-center gap-2.5 rounded-md px-3 text-sm aria-selected:bg-selected"
          >
            {choice.mark}
            <span className="truncate">{choice.label}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="px-5 pb-5 text-ink-2">Nothing is called that.</p>}
    </Overlay>
  )
}
