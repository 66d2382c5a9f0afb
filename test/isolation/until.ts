/** Waits for a fact that another process makes true. */
export async function until(fact: () => Promise<boolean>, what: string): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (await fact()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`Never came true: ${what}`);
}
