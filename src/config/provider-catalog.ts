/** What configuration must know of providers. Given as data: no adapter is imported here. */
import type { ProviderModule } from '../provider/define-provider.ts';

export type ProviderDescription = Pick<ProviderModule, 'id' | 'options' | 'capabilities'>;

export interface ProviderCatalog {
  readonly ids: readonly string[];
  /** May load the adapter's module; must be cheap when asked again. Only ids of `ids` are asked for. */
  describe(id: string): Promise<ProviderDescription>;
}
