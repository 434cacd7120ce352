import { useSearch } from '@tanstack/react-router'
import { Anchor, DoorClosed, LogIn } from 'lucide-react'
import { buttonClass } from '../ui/button.tsx'
import { Title } from '../ui/page.tsx'
import { EmptyState } from '../ui/states.tsx'

const signInAgain = (
  <a className={buttonClass('primary')} href="/cloud/auth/sign-in?return_to=%2F">
    Sign in
  </a>
)

/** Why a sign-in has come back without success. The service names the reason in the URL. */
const failures: Readonly<Record<string, readonly [title: string, advice: string]>> = {
  busy: ['Too many sign-ins at once', 'Wait a moment, then try again.'],
  expired: ['The sign-in took too long', 'Begin again; a sign-in has to be finished within some minutes.'],
  refused: ['The sign-in was refused', 'Try again. If it happens again, ask your administrator.'],
  unavailable: ['Signing in is not possible now', 'The account service does not answer. Try again in a moment.'],
}

/** Where a sign-in that failed leads. */
export function SignInPage() {
  const { error } = useSearch({ strict: false }) as { readonly error?: unknown }
  const [title, advice] = failures[String(error)] ?? ['Sign in to go on', 'Your agents go on working meanwhile.']
  return (
    <main className="grid h-full place-items-center">
      <Title>Sign in</Title>
      <EmptyState icon={LogIn} title={title} action={signInAgain}>
        {advice}
      </EmptyState>
    </main>
  )
}

/** Where signing out leads. */
export function SignedOutPage() {
  return (
    <main className="grid h-full place-items-center">
      <Title>Signed out</Title>
      <EmptyState icon={Anchor} title="You are signed out" action={signInAgain}>
        Your agents go on working.
      </EmptyState>
    </main>
  )
}

/** For people who can sign in, but belong to no organization (any more). */
export function NoAccessPage() {
  return (
    <main className="grid h-full place-items-center">
      <Title>No access</Title>
      <EmptyState icon={DoorClosed} title="You belong to no organization" action={signInAgain}>
        Ask an administrator for an invitation, open its link, and sign in again.
      </EmptyState>
    </main>
  )
}
