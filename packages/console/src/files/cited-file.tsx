import type { Session } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { createContext, type ReactNode, use } from 'react'
import { to } from '../routing/to.ts'
import { belowWorkspace, type CitedPlace, citedPlace } from './cited-path.ts'

type Of = Pick<Session, 'id' | 'source' | 'runtime'>

/** The Session whose files the words inside name. */
export const CitedFiles = createContext<Of | null>(null)

/** Text that names a file becomes a link to it; any other text stays as it is. */
export function CitedFile(props: { text: string; className?: string; children: ReactNode }) {
  const { text, children, className } = props
  const session = use(CitedFiles)
  const place = session === null ? null : citedPlace(text)
  if (session === null || place === null) return children
  return (
    <FileLink session={session} place={place} {...(className === undefined ? {} : { className })}>
      {children}
    </FileLink>
  )
}

/** The style of a file's name that stands alone: a finger needs 24 pixels, at any size of text. */
export const fileLinkClass = 'inline-flex min-h-[24px] min-w-[24px] items-center decoration-dotted'

/** A link to a place in a file of the workspace. */
export function FileLink(props: { session: Of; place: CitedPlace; className?: string; children: ReactNode }) {
  const { session, place } = props
  const file = belowWorkspace(place.path, session.source !== undefined)
  return (
    <Link
      {...to.session(session.id, { panel: 'files', file, ...(place.line === undefined ? {} : { line: place.line }) })}
      // The panel that shows the file has the same code.
      onClick={() => void import('./expanded.ts').then(({ reveal }) => reveal(session.id, file)).catch(() => undefined)}
      preload={false}
      title={`Open ${file}`}
      className={props.className ?? 'decoration-dotted'}
    >
      {props.children}
    </Link>
  )
}
