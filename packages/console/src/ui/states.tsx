import { Link } from '@tanstack/react-router'
import type { LucideIcon } from 'lucide-react'
import { CloudOff, RotateCw } from 'lucide-react'
import type { ReactNode } from 'react'
import { isPassing, problemOf } from '../api/problem.ts'
import { to } from '../routing/to.ts'
import { Button } from './button.tsx'
import { useOnline } from './online.ts'

/** The content of an empty page: which things appear there, and how to make the first one. */
export function EmptyState(props: { icon: LucideIcon; title: string; children?: ReactNode; action?: ReactNode }) {
  const { icon: Icon, title, children, action } = props
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-3 px-6 py-16 text-center">
      <span className="grid size-11 place-items-center rounded-xl border border-line bg-surface text-ink-3">
        <Icon className="size-5" aria-hidden />
      </span>
      <h2 className="text-base font-semibold">{title}</h2>
      {children !== undefined && <div className="text-ink-2 text-pretty">{children}</div>}
      {action}
    </div>
  )
}

/** Replaces content that could not be loaded: the problem, and a way out. A lasting refusal is not tried again. */
export function ErrorState({ error, retry }: { error: unknown; retry?: () => void }) {
  const { title, advice, code, missesGit } = problemOf(error)
  return (
    <div role="alert" className="mx-auto flex max-w-md flex-col items-center gap-3 px-6 py-16 text-center">
      <span className="grid size-11 place-items-center rounded-xl border border-bad-line bg-bad-soft text-bad">
        <CloudOff className="size-5" aria-hidden />
      </span>
      <h2 className="text-base font-semibold">{title}</h2>
      <p className="text-ink-2">
        {advice}
        {missesGit !== undefined && <GitLink to={missesGit} />}
      </p>
      {code !== null && <p className="font-mono text-xs text-ink-3">{code}</p>}
      {retry !== undefined && isPassing(error) && (
        <Button onClick={retry}>
          <RotateCw className="size-3.5" aria-hidden /> Try again
        </Button>
      )}
    </div>
  )
}

/** A link that solves the problem: a person's own account, from which they return, or a connection of the organization. */
export function GitLink({ to: missing }: { to: 'account' | 'connection' }) {
  const back = location.pathname + location.search
  return (
    <>
      {' '}
      <Link
        {...(missing === 'account' ? to.gitAccounts({ back }) : to.git())}
        className="text-accent underline underline-offset-2"
      >
        {missing === 'account' ? 'Git accounts' : 'Git hosts'}
      </Link>
      .
    </>
  )
}

/** An error beside the control that caused it. */
export function InlineProblem({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null
  const { title, advice, code, missesGit } = problemOf(error)
  return (
    <p role="alert" className="rounded-md border border-bad-line bg-bad-soft px-3 py-2 text-[0.8125rem]">
      <strong className="font-semibold text-bad">{title}.</strong> {advice}
      {missesGit !== undefined && <GitLink to={missesGit} />}
      {code !== null && <span className="ml-1.5 font-mono text-xs text-ink-3">{code}</span>}
    </p>
  )
}

/** Grey lines in the place of a list; they appear only if loading takes longer than a moment. */
export function LoadingLines({ lines = 6, label }: { lines?: number; label: string }) {
  const online = useOnline()
  if (!online) return <p className="late p-4 text-ink-2">This loads as soon as you are online again.</p>
  return (
    <div role="status" className="late flex flex-col gap-3 p-4">
      <span className="sr-only">Loading {label}</span>
      {Array.from({ length: lines }, (_, at) => (
        <div
          key={at}
          aria-hidden
          className="breathing h-4 rounded bg-hover"
          style={{ width: `${88 - ((at * 23) % 46)}%` }}
        />
      ))}
    </div>
  )
}
